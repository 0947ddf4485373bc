import { commandRecord } from '../../core/command.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import { type CliConfig, connectKafka } from '../shell/connections.ts';
import { type AwaitedResults, awaitResults, publishOnce } from '../shell/send-commands.ts';
import { describeError, type Shell } from '../shell/shell.ts';
import { commandsOf, type Plan, type PlannedCommand } from './plan.ts';

/** The outcome of one command of a plan. `status` is null if no result arrived. */
export type Applied = {
  readonly ref: string;
  readonly type: string;
  readonly status: string | null;
  readonly errorCode: string | null;
  readonly message: string;
  readonly subscriptionId: string | null;
  readonly commandId: string;
};

const PROGRESS_EVERY_MS = 5_000;

/** Sends the commands of a plan, prints each result as it arrives, and resolves when all have arrived or timed out. */
export async function applyPlan(
  shell: Shell,
  { results, send }: Pick<CommandChannel, 'results' | 'send'>,
  { topic, changes }: Plan,
  timeoutMs: number,
): Promise<Applied[]> {
  const commands = changes.flatMap(commandsOf);
  const waits = commands.map(({ commandId }) => results.of(commandId, timeoutMs));
  const begin = performance.now();
  await send(topic, commands, timeoutMs);
  shell.note(`${commands.length} command(s) sent to ${topic}, waiting for the results ...`);
  let open = commands.length;
  const progress = setInterval(
    () => shell.note(`waiting for ${open} of ${commands.length} results`),
    PROGRESS_EVERY_MS,
  );
  const applied = commands.map(async ({ ref, type, commandId }, n): Promise<Applied> => {
    const about = { ref, type, commandId };
    const unknown = { status: null, errorCode: null, subscriptionId: null };
    const one = await (waits[n] as Promise<Partial<Applied>>).then(
      ({ status = null, errorCode = null, message, subscriptionId = null }) => {
        return { ...about, status, errorCode, message: message ?? '', subscriptionId };
      },
      (error: unknown) => ({ ...about, ...unknown, message: describeError(error) }),
    );
    open--;
    const seconds = ((performance.now() - begin) / 1_000).toFixed(1);
    shell.note(`${ref}: ${one.status ?? 'no result'}, ${one.message} (${seconds} s)`);
    return one;
  });
  try {
    return await Promise.all(applied);
  } finally {
    clearInterval(progress);
  }
}

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
