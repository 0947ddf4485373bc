import { randomUUID } from 'node:crypto';
import { contentTypeOf, type EnvelopeNames, type Layout } from './layout.ts';
import type { PreparedDelivery } from './prepare-delivery.ts';

export type ExecutionStore = ReturnType<typeof createExecutionStore>;

/**
 * The executions, oldest first, bounded by number and by bytes. Only final ones are dropped. Callers wait for `capacity`
 * before they add one, so that an unavailable receiver cannot fill the memory with deliveries in progress.
 */
export function createExecutionStore(limits: { count: number; bytes: number }) {
  const all = new Map<string, Execution>();
  const final = new Map<string, Execution>();
  const inProgress = { count: 0, bytes: 0 };
  let bytes = 0;
  let waiting: (() => void)[] = [];

  const dropOldest = () => {
    while ((all.size > limits.count || bytes > limits.bytes) && final.size > 0) {
      const [oldest] = final.values();
      if (!oldest) return;
      final.delete(oldest.id);
      all.delete(oldest.id);
      bytes -= bytesOf(oldest);
    }
  };
  const hasCapacity = (size: number) =>
    inProgress.count === 0 || (inProgress.count < limits.count && inProgress.bytes + size <= limits.bytes);

  return {
    add(execution: Execution): void {
      all.set(execution.id, execution);
      bytes += bytesOf(execution);
      inProgress.count += 1;
      inProgress.bytes += bytesOf(execution);
      dropOldest();
    },
    /** Call this once for each added execution, when its state is final. */
    finish(execution: Execution): void {
      inProgress.count -= 1;
      inProgress.bytes -= bytesOf(execution);
      if (all.has(execution.id)) final.set(execution.id, execution);
      dropOldest();
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    },
    /** Resolves as soon as an execution that holds `size` bytes can be added. */
    async capacity(size: number): Promise<void> {
      while (!hasCapacity(size)) await new Promise<void>((resolve) => waiting.push(resolve));
    },
    get: (id: string) => all.get(id),
    /** Newest first. */
    list(filter: (execution: Execution) => boolean, limit: number): Execution[] {
      return [...all.values()].reverse().filter(filter).slice(0, limit);
    },
    /** Forgets every final one. */
    clear(): void {
      for (const execution of all.values()) {
        if (!isFinal(execution)) continue;
        all.delete(execution.id);
        bytes -= bytesOf(execution);
      }
      final.clear();
    },
  };
}

export type ExecutionState = 'waiting' | 'retrying' | 'delivered' | 'failed' | 'cancelled';

/** One attempt to deliver: `status` is the receiver's answer, or null with an `error` where there was none. */
export type Attempt = {
  readonly number: number;
  readonly at: string;
  readonly durationMs: number;
  readonly status: number | null;
  readonly error: string | null;
  /** The first 64 KiB of the answer. */
  readonly responseBody: string;
};

/** A webhook run: one message for one subscription, with every attempt. Kept so that it can be replayed. */
export type Execution = {
  readonly id: string;
  readonly subscriptionId: string;
  readonly triggerId: string | null;
  readonly replayOf: string | null;
  readonly type: string | null;
  readonly entityId: string | null;
  readonly createdAt: string;
  /** The message before encryption. */
  readonly message: Buffer;
  readonly sealing: { readonly layout: Layout; readonly names: EnvelopeNames } | null;
  url: string;
  /** What each attempt sends; null until it is encrypted and signed. */
  sent: PreparedDelivery | null;
  state: ExecutionState;
  nextAttemptAt: string | null;
  readonly attempts: Attempt[];
};

const isFinal = (execution: Execution): boolean =>
  execution.state !== 'waiting' && execution.state !== 'retrying';

/** The memory of an execution: the body of a plain message is the message itself, that of a sealed one is a copy. */
const bytesOf = (execution: Execution): number =>
  execution.message.length * (execution.sealing === null ? 1 : 2);

/** The fields of an execution that its creator gives. */
type ExecutionSeed = Pick<
  Execution,
  'subscriptionId' | 'triggerId' | 'replayOf' | 'type' | 'entityId' | 'message' | 'sealing' | 'url'
>;

export const newExecution = (seed: ExecutionSeed, now: number): Execution => ({
  ...seed,
  id: randomUUID(),
  createdAt: new Date(now).toISOString(),
  sent: null,
  state: 'waiting',
  nextAttemptAt: null,
  attempts: [],
});

/** An execution as the test API shows it; `sentBody` is the message before encryption, or null without `body`. */
export function describeExecution(execution: Execution, options: { body: boolean }) {
  const last = execution.attempts.at(-1);
  return {
    id: execution.id,
    subscriptionId: execution.subscriptionId,
    triggerId: execution.triggerId,
    replayOf: execution.replayOf,
    type: execution.type,
    entityId: execution.entityId,
    url: execution.url,
    state: execution.state,
    createdAt: execution.createdAt,
    nextAttemptAt: execution.nextAttemptAt,
    sealed: execution.sealing !== null,
    layout: execution.sealing?.layout.name ?? null,
    contentType: execution.sent?.headers['content-type'] ?? contentTypeOf(execution.sealing?.layout ?? null),
    bytes: execution.sent?.body.length ?? execution.message.length,
    // Of the last attempt.
    status: last?.status ?? null,
    error: last?.error ?? null,
    responseBody: last?.responseBody ?? null,
    attempts: execution.attempts,
    sentBody: options.body ? execution.message.toString('utf8') : null,
  };
}

/** The same with everything that was sent, byte for byte. */
export function describeInFull(execution: Execution) {
  return {
    ...describeExecution(execution, { body: true }),
    headers: execution.sent?.headers ?? null,
    messageBase64: execution.message.toString('base64'),
    bodyBase64: execution.sent?.body.toString('base64') ?? null,
  };
}
