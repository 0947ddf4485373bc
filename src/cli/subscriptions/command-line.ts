import { type CliConfig, type CliKafka, connectKafka } from '../shell/connections.ts';
import { type AwaitedResults, awaitResults, publishOnce } from '../shell/send-commands.ts';
import type { Shell } from '../shell/shell.ts';
import type { PlannedCommand } from './plan.ts';

const ISSUED_BY = 'hookline subscriptions';

type Sent = Pick<PlannedCommand, 'commandId' | 'type'> & Partial<PlannedCommand>;

/** The way of commands to control, and of their results back. */
export type CommandLine = {
  readonly config: CliConfig;
  readonly kafka: CliKafka;
  readonly results: Pick<AwaitedResults, 'of'>;
  /** Resolves when the brokers have all of them. What isn't taken up within `expiresInMs` is not carried out. */
  send(topic: string, commands: readonly Sent[], expiresInMs: number): Promise<void>;
  stop(): Promise<void>;
};

export async function openCommandLine(shell: Shell, config: CliConfig): Promise<CommandLine> {
  const kafka = connectKafka(config);
  const results = await awaitResults(shell, config, kafka);
  return {
    ...{ config, kafka, results },
    async send(topic, commands, expiresInMs) {
      const now = Date.now();
      const times = {
        issuedAt: new Date(now).toISOString(),
        expiresAt: new Date(now + expiresInMs).toISOString(),
      };
      const records = commands.map((command) => ({
        topic,
        key: Buffer.from(command.ref ?? command.commandId),
        value: Buffer.from(JSON.stringify({ ...command, issuedBy: ISSUED_BY, ...times })),
        headers: new Map<Buffer, Buffer>(),
      }));
      await publishOnce(kafka, records);
    },
    stop: () => results.stop(),
  };
}
