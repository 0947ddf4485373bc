import { commandRecord } from '../../core/command.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import { type CliConfig, connectKafka } from '../shell/connections.ts';
import { type AwaitedResults, awaitResults, publishOnce } from '../shell/send-commands.ts';
import type { Shell } from '../shell/shell.ts';
import type { PlannedCommand } from './plan.ts';

type Sent = Pick<PlannedCommand, 'commandId' | 'type'> & Partial<PlannedCommand>;

/** Sends commands to control and receives their results. */
export type CommandChannel = {
  readonly config: CliConfig;
  readonly kafka: KafkaAccess;
  readonly results: Pick<AwaitedResults, 'of'>;
  /** Resolves when the brokers have confirmed all. Control does not execute a command after `expiresInMs`. */
  send(topic: string, commands: readonly Sent[], expiresInMs: number): Promise<void>;
  stop(): Promise<void>;
};

/** @param issuedBy who sends the commands */
export async function openCommandChannel(
  shell: Shell,
  config: CliConfig,
  issuedBy: string,
): Promise<CommandChannel> {
  const kafka = connectKafka(config);
  // A plan is made of what there is by then.
  const again = 'plan and apply may be repeated';
  const results = await awaitResults(shell, config, { kafka, again });
  return {
    config,
    kafka,
    results,
    async send(topic, commands, expiresInMs) {
      const now = Date.now();
      const times = {
        issuedAt: new Date(now).toISOString(),
        expiresAt: new Date(now + expiresInMs).toISOString(),
      };
      const complete = commands.map((command) => ({ ...command, issuedBy, ...times }));
      await publishOnce(
        kafka,
        complete.map((command) => commandRecord(topic, command)),
        shell.signal,
      );
    },
    stop: () => results.stop(),
  };
}
