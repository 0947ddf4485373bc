import type kafkajs from 'kafkajs';
import type { IncomingRecord } from '../../core/record.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { KafkaClient } from '../connect/kafkajs-client.ts';

export type ConsumerDeps = {
  readonly kafka: KafkaClient;
  readonly groupId: string;
  /** The client has ended for good, by this error: only another consumer reads on. Called once at most. */
  readonly onEnd: (error: Error) => void;
  /** Nothing is read for now: the client begins anew by itself. */
  readonly onRestart?: (error: Error) => void;
  readonly sessionTimeoutMs?: number;
  /** kafkajs itself starts again after an error that may pass. */
  readonly restarts?: boolean;
  /** What else of kafkajs' options the reading needs. */
  readonly options?: Partial<kafkajs.ConsumerConfig>;
  readonly clock: Clock;
};

export type Reading = {
  readonly topics: readonly string[];
  /** Without a committed offset it begins at the oldest record; otherwise with what comes after the start. */
  readonly fromBeginning?: boolean;
  readonly partitionsAtOnce?: number;
  /**
   * Takes one record after the other of each partition. False leaves it, and what comes behind it, for the next fetch.
   * What it throws ends the consumer.
   */
  readonly onRecord: (record: IncomingRecord) => boolean | Promise<boolean>;
  /** What is before this offset was handed over, or is no record for anybody: of an aborted transaction, or the end of one. */
  readonly onPassed?: (topic: string, partition: number, next: bigint) => void;
};

const LEAVE_MS = 5_000;
const MAX_WAIT_MS = 500;

/**
 * The one consumer of kafkajs here: whatever needs a group stands on it. It commits nothing by itself, does not hang where a
 * broker hangs, reports its end once, and leaves its group within a deadline.
 */
export class GroupConsumer {
  /** For what else can be done with a consumer: seek, pause, resume, commit, events. */
  readonly client: ReturnType<KafkaClient['consumer']>;
  readonly #clock: Clock;
  #hasEnded = false;

  constructor(deps: ConsumerDeps) {
    const { sessionTimeoutMs = 10_000, restarts = false, clock } = deps;
    this.#clock = clock;
    this.client = deps.kafka.consumer({
      groupId: deps.groupId,
      allowAutoTopicCreation: false,
      // A broker that hangs is found out by new metadata alone.
      metadataMaxAge: 3_000,
      sessionTimeout: sessionTimeoutMs,
      maxWaitTimeInMs: MAX_WAIT_MS,
      retry: {
        initialRetryTime: 100,
        maxRetryTime: 1_000,
        retries: 5,
        // Begun anew behind its end, it would take its group's partitions, and nobody would stop it.
        restartOnFailure: async () => restarts && !this.#hasEnded,
      },
      ...deps.options,
    });
    this.client.on(this.client.events.CRASH, ({ payload }) => {
      if (payload.restart) deps.onRestart?.(this.client.explain?.(payload.error) ?? payload.error);
      if (payload.restart || this.#hasEnded) return;
      this.#hasEnded = true;
      deps.onEnd(payload.error);
    });
  }

  /** Joins the group and reads. A consumer that could not join has ended by the time this resolves. */
  async run(reading: Reading): Promise<void> {
    const { client } = this;
    const { topics, fromBeginning = true, onPassed } = reading;
    client.on(client.events.END_BATCH_PROCESS, ({ payload: { batchSize, topic, partition, lastOffset } }) => {
      if (batchSize === 0) onPassed?.(topic, partition, BigInt(lastOffset) + 1n);
    });
    try {
      await client.connect();
      await client.subscribe({ topics: [...topics], fromBeginning });
      await client.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        ...(reading.partitionsAtOnce && { partitionsConsumedConcurrently: reading.partitionsAtOnce }),
        eachBatch: (payload) => takeBatch(payload, reading),
      });
    } catch (error) {
      this.#hasEnded = true;
      throw error;
    }
  }

  /**
   * Leaves the group. It resolves after the deadline too: a consumer whose brokers are unavailable may never come to the end
   * of its leaving. kafkajs forgets connections when it starts again and when the group's coordinator changes: none is left
   * open.
   */
  async leave(withinMs = LEAVE_MS): Promise<void> {
    this.#hasEnded = true;
    const left = this.client.disconnect().catch(() => {});
    await Promise.race([left, this.#clock.sleep(withinMs, { ref: false })]);
    this.client.cut?.();
  }
}

async function takeBatch(
  { batch, isRunning, isStale, resolveOffset, heartbeat }: kafkajs.EachBatchPayload,
  { onRecord, onPassed }: Reading,
): Promise<void> {
  const { topic, partition } = batch;
  for (const message of batch.messages) {
    // Interrupted by a seek or the stop: what is left of the batch was not handed over.
    if (!isRunning() || isStale()) return;
    const taken = onRecord(toIncomingRecord(topic, partition, message));
    if (taken !== true && !(await taken)) return;
    resolveOffset(message.offset);
    // kafkajs itself sends no heartbeat while a batch is being handled.
    if (taken !== true) await heartbeat();
  }
  onPassed?.(topic, partition, BigInt(batch.lastOffset()) + 1n);
}

export function toIncomingRecord(
  topic: string,
  partition: number,
  message: kafkajs.KafkaMessage,
): IncomingRecord {
  return {
    topic,
    partition,
    offset: BigInt(message.offset),
    key: message.key,
    value: message.value,
    headers: toTexts(message.headers ?? {}),
    timestamp: Number(message.timestamp),
  };
}

/** Headers as texts; of one that came several times, the last counts. */
function toTexts(headers: kafkajs.IHeaders): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const last = Array.isArray(value) ? value.at(-1) : value;
    if (last !== undefined) texts[name] = last.toString();
  }
  return texts;
}
