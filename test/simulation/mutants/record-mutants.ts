import type { Mutant } from './mutant.ts';

const DEAD_LETTER_HEADERS = 'delivery/dead-letter/dead-letter-headers.ts';

/** What records and answers say of a webhook. */
export const RECORDS: readonly Mutant[] = [
  {
    name: 'an event names another ref as its source',
    file: 'delivery/event-routes.ts',
    find: 'last.ref === ref && ',
    put: '',
  },
  {
    name: 'a key has another partition than that of all clients',
    file: 'kafka/produce/topic-queues.ts',
    find: 'return (murmur2(key) & 0x7fffffff) % partitions;',
    put: 'return (murmur2(key) >>> 1) % partitions;',
  },
  {
    name: 'an event from the spool has the time of its draining',
    file: 'spool/spool-row.ts',
    find: 'const delivery = { ...row, traceparent: traceparent ?? undefined, body: bytes };',
    put: 'const delivery = { ...row, receivedAt: row.receivedAt + 60_000, traceparent: traceparent ?? undefined, body: bytes };',
  },
  {
    name: 'an event refers to an object by the hash of another',
    file: 'delivery/encode-by-policy.ts',
    find: 'const reference = { uri: object.uri, sha256: object.sha256, bytes: object.bytes.length };',
    put: 'const reference = { uri: object.uri, sha256: object.uri, bytes: object.bytes.length };',
  },
  {
    name: 'an event keeps a message above CLAIM_CHECK_BYTES in Kafka',
    file: 'delivery/encode-by-policy.ts',
    find: 'claims?.maxRecordBytes ?? Number.POSITIVE_INFINITY,',
    put: 'Number.POSITIVE_INFINITY,',
  },
  {
    name: 'a dead-letter record has another reason',
    file: DEAD_LETTER_HEADERS,
    find: '[names.code]: reason.code,',
    put: "[names.code]: 'UNDECRYPTABLE',",
  },
  {
    name: 'a full spool is taken for a fault of the sender',
    file: 'core/webhook-errors.ts',
    find: 'SPOOL_FULL: { status: 503, retryable: true,',
    put: 'SPOOL_FULL: { status: 429, retryable: true,',
  },
  {
    name: 'the checks of topics go on behind the stop',
    file: 'kafka/produce/publisher.ts',
    find: 'this.#health.stop();',
    put: '',
  },
  {
    name: 'a record has no timestamp, and retention deletes it',
    file: 'kafka/produce/publisher.ts',
    find: 'timestamp: record.timestamp ?? BigInt(clock.wall()),',
    put: 'timestamp: record.timestamp ?? 0n,',
  },
  {
    name: 'a valid webhook above some size is refused',
    file: 'crypto/signature.ts',
    find: 'if (timingSafeEqual(expected, given) && digest === signature && isLive(key)) return key;',
    put: 'if (timingSafeEqual(expected, given) && body.length < 2_500 && isLive(key)) return key;',
  },
  {
    name: 'a topic that was in trouble once stays so',
    file: 'kafka/produce/topic-health.ts',
    find: 'if (why === null) this.#troubles.delete(topic);',
    put: 'if (why === null && !this.#troubles.has(topic)) this.#troubles.delete(topic);',
  },
  {
    name: 'a key that waited for the object store goes to the spool forever',
    file: 'delivery/store/spooling-store.ts',
    find: 'this.#held.clear();',
    put: '',
  },
  {
    name: 'what waits behind an object is refused, not spooled',
    file: 'delivery/store/in-flight.ts',
    find: 'for (const [entry, one] of [...this.#waiting]) if (one === order) this.defer(entry, order);',
    put: 'void order;',
  },
  {
    name: 'a small one waits for an earlier object as long as that takes',
    file: 'delivery/store/spooling-store.ts',
    find: 'if (!object) clock.after(publishDeadlineMs, () => this.#holdIfWaiting(entry, why), { ref: false });',
    put: 'void why;',
  },
  {
    name: 'rows of a spool that is opened anew have numbers that others had',
    file: 'spool/spool-work.ts',
    find: 'this.#nextId = this.#file.nextId;',
    put: 'this.#nextId = 1;',
  },
];
