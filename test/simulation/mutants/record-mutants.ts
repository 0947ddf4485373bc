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
];
