import { setTimeout as sleep } from 'node:timers/promises';
import type { Hold } from '../../kafka/consume/hold-alone.ts';
import { type ReconcileParts, reconcile, type Tries } from './reconcile.ts';

export type Reconciler = { stop(): Promise<void> };

export type ReconcilerParts = ReconcileParts & {
  readonly intervalMs: number;
  /** Takes the right to compare alone; one of the control processes has it. Given up where this process stops. */
  readonly hold: (stopping: AbortSignal) => Promise<Hold | { readonly heldBy: string }>;
  /** Another process compares, or may by now: what this one has seen is no longer to be shown. */
  readonly onElsewhere: () => void;
  /** A look came to nothing; the next one comes all the same. */
  readonly onFailure: (error: unknown) => void;
};

/** Compares once per interval, beginning one interval after the start, in one of the control processes. */
export function startReconciler(parts: ReconcilerParts): Reconciler {
  const stopping = new AbortController();
  const running = run(parts, stopping.signal);
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

async function run(parts: ReconcilerParts, stopping: AbortSignal): Promise<void> {
  let hold: Hold | undefined;
  const tries: Tries = new Map();
  parts.onElsewhere();
  while (await rest(parts.intervalMs, stopping)) {
    try {
      if (hold?.lost.aborted) {
        parts.onElsewhere();
        await hold.release();
        hold = undefined;
      }
      if (!hold) {
        tries.clear();
        const taken = await parts.hold(stopping);
        hold = 'heldBy' in taken ? undefined : taken;
      }
      if (hold) await reconcile(parts, tries, AbortSignal.any([stopping, hold.lost]));
    } catch (error) {
      if (!stopping.aborted) parts.onFailure(error);
    }
  }
  await hold?.release();
}

/** False where the process stops meanwhile. */
const rest = (ms: number, signal: AbortSignal): Promise<boolean> =>
  sleep(ms, true, { signal }).catch(() => false);
