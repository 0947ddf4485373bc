import type { CommandSchemas } from '../avro/command-schemas.ts';
import type { RecordCodec } from '../avro/record-codec.ts';
import type { SchemaIds } from '../avro/resolve-ids.ts';
import { shortText } from '../core/cut-text.ts';
import { HooklineError, hasCode } from '../core/errors.ts';
import type { Lease } from '../core/lease.ts';
import { OWN_TOPICS, topicName } from '../core/names.ts';
import type { OutgoingRecord, Position } from '../core/record.ts';
import { DEAD_LETTER_HEADERS as NAMES, toHeaders } from '../delivery/dead-letter/dead-letter-headers.ts';
import type { Publisher } from '../kafka/produce/publisher.ts';
import type { Clock } from '../runtime/clock.ts';
import { type Backoff, retry } from '../runtime/retry.ts';
import { CLAIM_HEADER, EPOCH_HEADER, EPOCH_KEY } from '../subscriptions/state-fence.ts';
import type { SubscriptionRecord } from '../subscriptions/subscription-record.ts';
import type { ControlRecords, StateLease } from './operations/operation.ts';

const PUBLISH_DEADLINE_MS = 15_000;
const SIZE_HINT = 1_024;
/** 0.5, 1, 2, 4, 5, 5 … s between attempts of 15 s each at most: what control stores it stores before it goes on. */
const BACKOFF: Backoff = { firstMs: 500, factor: 2, maxMs: 5_000 };

/** Characters of a reason: it may quote a name from a schema or a command, and that may be a megabyte long. */
const MAX_REASON = 2_000;

/** Writes results, state and dead-letter records, for as long as it takes. */
export function createControlRecords(deps: {
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly prefix: string;
  readonly schemas: CommandSchemas;
  readonly ids: SchemaIds;
  /** How long this process may be silent before another takes its place. */
  readonly sessionTimeoutMs: number;
  readonly clock: Clock;
  readonly onStored: (position: Position) => void;
  readonly onDelay: (topic: string, error: unknown) => void;
  /** A command was dead-lettered. */
  readonly onDeadLettered: () => void;
}): ControlRecords {
  const { publisher, prefix, schemas, ids } = deps;
  // A record that was in progress when the process was frozen is given up by then: it must not overwrite newer ones.
  const deadlineMs = Math.min(PUBLISH_DEADLINE_MS, deps.sessionTimeoutMs);
  const store = async (record: OutgoingRecord, lease: Lease, { isSmallest = false } = {}) => {
    const { topic } = record;
    const publish = async () => {
      lease.check();
      const leftMs = Math.max(1, lease.leftMs?.() ?? deadlineMs);
      const published = publisher.publish(record, Math.min(deadlineMs, leftMs));
      deps.onStored(await published.catch((error) => Promise.reject(withTopic(topic, error))));
    };
    const again = (error: unknown) =>
      hasCode(error, 'RECORD_TOO_LARGE')
        ? isSmallest
        : error instanceof HooklineError && error.retryable && error.code !== 'PUBLISHER_CLOSED';
    await retry(publish, {
      clock: deps.clock,
      backoff: BACKOFF,
      signal: lease.signal,
      again,
      onFailure: (error) => again(error) && deps.onDelay(topic, error),
    });
  };
  const encode = (schema: { file: string; codec: RecordCodec }, value: object) =>
    schema.codec.encode(value, ids.of(schema), SIZE_HINT);
  const headers = toHeaders({ 'content-type': 'application/avro' });
  const withKey = createKeyLock();
  const stateTopic = topicName(prefix, OWN_TOPICS.subscriptions);
  const storeState = async (ref: string, record: SubscriptionRecord | null, lease: StateLease) => {
    const value = record && encode(schemas.subscription, record);
    const fenced = toHeaders({ 'content-type': 'application/avro', [EPOCH_HEADER]: String(lease.epoch) });
    await store({ topic: stateTopic, key: Buffer.from(ref), value, headers: fenced }, lease);
    // Confirmed, and perhaps behind a claim that came meanwhile: then it does not count, and the command begins anew.
    lease.check();
  };
  return {
    storeResult: (result, lease, size) => {
      const topic = topicName(prefix, OWN_TOPICS.results);
      const value = encode(schemas.result, result);
      return store({ topic, key: Buffer.from(result.commandId), value, headers }, lease, size);
    },
    storeSubscription: (ref, record, lease) => withKey(ref, () => storeState(ref, record, lease)),
    restoreSubscription: (ref, read, lease) =>
      withKey(ref, async () => {
        const record = await read();
        if (record !== undefined) await storeState(ref, record, lease);
      }),
    storeClaim: (partition, { epoch, claim }, lease) => {
      const by = toHeaders({ [EPOCH_HEADER]: String(epoch), [CLAIM_HEADER]: claim });
      // Decimal digits: no reader takes them for a record in the wire format, which begins with byte 0.
      const value = Buffer.from(String(epoch));
      const key = Buffer.from(EPOCH_KEY);
      return store({ topic: stateTopic, partition, key, value, headers: by }, lease);
    },
    storeDeadLetter: async (
      { topic, partition, offset, timestamp, key, value },
      { reason, commandId },
      lease,
    ) => {
      const at = `${topic}-${partition}-${offset}`;
      const recordOf = (message: string) => ({
        topic: topicName(prefix, OWN_TOPICS.deadLetter),
        headers: toHeaders({
          [NAMES.stage]: 'COMMAND',
          [NAMES.code]: reason.code,
          [NAMES.message]: message,
          [NAMES.topic]: topic,
          [NAMES.partition]: String(partition),
          [NAMES.offset]: String(offset),
          [NAMES.receivedAt]: String(timestamp),
          [NAMES.connector]: 'hookline',
          [NAMES.commandId]: commandId ?? undefined,
        }),
      });
      const message = shortText(reason.message, MAX_REASON);
      try {
        await store({ ...recordOf(message), key: key ?? Buffer.from(at), value }, lease);
      } catch (error) {
        // Tried again, it would block its partition for ever. The record itself stays where it was read.
        if (!hasCode(error, 'RECORD_TOO_LARGE')) throw error;
        const bytes = `its ${value?.length ?? 0} bytes do not fit here: read them at ${at}`;
        await store(
          { ...recordOf(`${message} (${bytes})`), key: Buffer.from(at), value: Buffer.alloc(0) },
          lease,
          { isSmallest: true },
        );
      }
      deps.onDeadLettered();
    },
  };
}

const withTopic = (topic: string, error: unknown) =>
  hasCode(error, 'RECORD_TOO_LARGE')
    ? new HooklineError(error.code, topic, { cause: error, topic, remedy: 'raise its max.message.bytes' })
    : error;

/** Runs what concerns the same key one after the other, in the order of the calls; other keys concurrently. */
type KeyLock = <T>(key: string, work: () => Promise<T>) => Promise<T>;

function createKeyLock(): KeyLock {
  const last = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const before = last.get(key);
    const run = before ? before.then(work, work) : work();
    const settled = run.then(
      () => {},
      () => {},
    );
    last.set(key, settled);
    void settled.then(() => {
      if (last.get(key) === settled) last.delete(key);
    });
    return run;
  };
}
