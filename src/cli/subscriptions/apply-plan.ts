import { describeError, type Shell } from '../shell/shell.ts';
import type { CommandChannel } from './command-channel.ts';
import { commandsOf, type Plan } from './plan.ts';

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
