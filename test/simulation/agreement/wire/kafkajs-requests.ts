import { createRequire } from 'node:module';
import type { WireRecord } from '../../../../src/kafka/produce/encode-batch.ts';
import {
  CLIENT_ID,
  CORRELATION_BYTES,
  type FetchFrom,
  TIMEOUT_MS,
  type WireRequest,
} from './wire-request.ts';

const require = createRequire(import.meta.url);

const MAX_BYTES = 10 * 1024 * 1024;
/** Longer than any schedule takes, on either clock. */
const SESSION_MS = 600_000;

type Requests = (parts: object) => { readonly encode: () => Promise<unknown> };
type Encode = (parts: object) => Promise<{ readonly buffer: Buffer }>;

/** A request of kafkajs's, in the version that it chooses. */
function ofKafkajs(name: string, version: number, parts: object): WireRequest {
  const file = (what: string): unknown =>
    require(`kafkajs/src/protocol/requests/${name}/v${version}/${what}.js`);
  const request = (file('request') as Requests)(parts);
  const { decode } = file('response') as { decode: (bytes: Buffer) => Promise<object> };
  const encode = require('kafkajs/src/protocol/request.js') as Encode;
  return {
    name: `${name} v${version} of kafkajs`,
    frame: async (correlationId) => (await encode({ correlationId, clientId: CLIENT_ID, request })).buffer,
    read: (answer) => decode(answer.subarray(CORRELATION_BYTES)),
  };
}

type Produced = {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly WireRecord[];
};

/** Without a batch: a request for nothing. */
export const produce = (produced?: Produced): WireRequest => {
  const messages = produced?.records.map(({ key, value, headers, timestamp }) => ({
    key,
    value,
    timestamp: Number(timestamp),
    headers: Object.fromEntries([...headers].map(([name, text]) => [`${name}`, text])),
  }));
  const topicData = produced
    ? [{ topic: produced.topic, partitions: [{ partition: produced.partition, messages, firstSequence: 0 }] }]
    : [];
  return ofKafkajs('produce', 7, { acks: -1, timeout: TIMEOUT_MS, topicData });
};

export const fetch = (topic: string, { partition, offset, maxWaitMs }: FetchFrom): WireRequest =>
  ofKafkajs('fetch', 11, {
    replicaId: -1,
    maxWaitTime: maxWaitMs,
    minBytes: 1,
    maxBytes: MAX_BYTES,
    topics: [{ topic, partitions: [{ partition, fetchOffset: `${offset}`, maxBytes: MAX_BYTES }] }],
  });

export const listOffsets = (topic: string, partition: number, timestamp: bigint): WireRequest =>
  ofKafkajs('listOffsets', 3, {
    replicaId: -1,
    isolationLevel: 1,
    topics: [{ topic, partitions: [{ partition, timestamp: `${timestamp}` }] }],
  });

export const metadata = (topics: readonly string[]): WireRequest =>
  ofKafkajs('metadata', 6, { topics, allowAutoTopicCreation: false });

/** As a member names itself to the coordinator. */
export type Identity = { readonly groupId: string; readonly memberId: string; readonly generationId: number };

export const findCoordinator = (groupId: string): WireRequest =>
  ofKafkajs('findCoordinator', 2, { coordinatorKey: groupId, coordinatorType: 0 });

export const joinGroup = (groupId: string, memberId: string): WireRequest =>
  ofKafkajs('joinGroup', 5, {
    groupId,
    memberId,
    sessionTimeout: SESSION_MS,
    rebalanceTimeout: SESSION_MS,
    protocolType: 'consumer',
    groupProtocols: [{ name: 'first', metadata: Buffer.from('any') }],
  });

export const syncGroup = (
  { groupId, memberId, generationId }: Identity,
  groupAssignment: readonly { readonly memberId: string; readonly memberAssignment: Buffer }[],
): WireRequest => ofKafkajs('syncGroup', 3, { groupId, memberId, generationId, groupAssignment });

export const heartbeat = ({ groupId, memberId, generationId }: Identity): WireRequest =>
  ofKafkajs('heartbeat', 3, { groupId, memberId, groupGenerationId: generationId });

export const leaveGroup = ({ groupId, memberId }: Identity): WireRequest =>
  ofKafkajs('leaveGroup', 3, { groupId, members: [{ memberId }] });

export const commitOffset = (
  { groupId, memberId, generationId }: Identity,
  { topic, partition, offset }: { topic: string; partition: number; offset: number },
): WireRequest =>
  ofKafkajs('offsetCommit', 5, {
    groupId,
    memberId,
    groupGenerationId: generationId,
    topics: [{ topic, partitions: [{ partition, offset: `${offset}`, metadata: null }] }],
  });

export const fetchOffsets = (groupId: string, topic: string, partitions: readonly number[]): WireRequest =>
  ofKafkajs('offsetFetch', 4, {
    groupId,
    topics: [{ topic, partitions: partitions.map((partition) => ({ partition })) }],
  });
