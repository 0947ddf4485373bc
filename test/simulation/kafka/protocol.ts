import { WireWriter } from './wire.ts';

/** Requests of Kafka's protocol, by their number. */
export const API = {
  PRODUCE: 0,
  FETCH: 1,
  LIST_OFFSETS: 2,
  METADATA: 3,
  OFFSET_COMMIT: 8,
  OFFSET_FETCH: 9,
  FIND_COORDINATOR: 10,
  JOIN_GROUP: 11,
  HEARTBEAT: 12,
  LEAVE_GROUP: 13,
  SYNC_GROUP: 14,
  API_VERSIONS: 18,
} as const;

/**
 * What the model understands: the lowest and the highest version of each request. Of those for consumers it is the one that
 * kafkajs chooses among a real broker's, and the one of @platformatic/kafka.
 */
export const VERSIONS: readonly (readonly [api: number, least: number, most: number])[] = [
  [API.PRODUCE, 3, 11],
  [API.FETCH, 11, 17],
  [API.LIST_OFFSETS, 3, 9],
  [API.METADATA, 1, 12],
  [API.OFFSET_COMMIT, 5, 5],
  [API.OFFSET_FETCH, 4, 4],
  [API.FIND_COORDINATOR, 2, 2],
  [API.JOIN_GROUP, 5, 5],
  [API.HEARTBEAT, 3, 3],
  [API.LEAVE_GROUP, 3, 3],
  [API.SYNC_GROUP, 3, 3],
  [API.API_VERSIONS, 0, 3],
];

const RANGES = new Map(VERSIONS.map(([api, least, most]) => [api, { least, most }]));

export function isUnderstood(api: number, version: number): boolean {
  const range = RANGES.get(api);
  return range !== undefined && version >= range.least && version <= range.most;
}

/** Since which version lengths are compact and structures have tagged fields. */
const FLEXIBLE_SINCE = new Map<number, number>([
  [API.PRODUCE, 9],
  [API.FETCH, 12],
  [API.LIST_OFFSETS, 6],
  [API.METADATA, 9],
  [API.API_VERSIONS, 3],
]);

export const isFlexible = (api: number, version: number) =>
  version >= (FLEXIBLE_SINCE.get(api) ?? Number.POSITIVE_INFINITY);

/** How every request begins. */
export type Head = { readonly api: number; readonly version: number; readonly correlationId: number };

/** The beginning of the answer. */
export function answerTo({ api, version, correlationId }: Head): WireWriter {
  const writer = new WireWriter(isFlexible(api, version));
  writer.int32(correlationId);
  // The answer that tells the versions has the oldest head: its reader may know no other.
  if (api !== API.API_VERSIONS) writer.tags();
  return writer;
}

/** Kafka's error codes of groups. */
export const GROUP_CODES = {
  NONE: 0,
  COORDINATOR_LOAD_IN_PROGRESS: 14,
  COORDINATOR_NOT_AVAILABLE: 15,
  NOT_COORDINATOR: 16,
  ILLEGAL_GENERATION: 22,
  UNKNOWN_MEMBER_ID: 25,
  REBALANCE_IN_PROGRESS: 27,
  MEMBER_ID_REQUIRED: 79,
} as const;
