import {
  apiVersionsV3,
  fetchV17,
  listOffsetsV9,
  metadataV12,
  produceV11,
  Reader,
  ResponseError,
  Writer,
} from '@platformatic/kafka';
import { type Batch, encodeProduce } from '../../../../src/kafka/produce/encode-batch.ts';
import {
  CLIENT_ID,
  CORRELATION_BYTES,
  type FetchFrom,
  TIMEOUT_MS,
  type WireRequest,
} from './wire-request.ts';

const MAX_BYTES = 10 * 1024 * 1024;
const READ_COMMITTED = 1;
const CONSUMER = -1;

/** A version of a request, as @platformatic/kafka exports it. */
type Encoded = {
  readonly api: { readonly key: number; readonly version: number };
  readonly parseResponse: (id: number, api: number, version: number, reader: Reader) => object;
};

function ofPlatformatic(name: string, encoded: object, payload: () => Writer): WireRequest {
  const { api, parseResponse } = encoded as Encoded;
  return {
    name: `${name} v${api.version}`,
    async frame(correlationId) {
      const head = Writer.create().appendInt16(api.key).appendInt16(api.version).appendInt32(correlationId);
      const whole = head.appendString(CLIENT_ID, false).appendTaggedFields().appendFrom(payload());
      return whole.prependLength().buffer;
    },
    async read(answer) {
      const reader = Reader.from(answer.subarray(CORRELATION_BYTES));
      if (!name.startsWith('ApiVersions')) reader.readTaggedFields();
      try {
        return ordered(parseResponse(0, api.key, api.version, reader));
      } catch (error) {
        // The client throws what is an error in the answer.
        if (error instanceof ResponseError) return ordered(error.response as object);
        throw error;
      }
    },
  };
}

type Places = { responses?: { name?: string; partitionResponses?: { index: number }[] }[] };

/** Brokers answer for the partitions of a Produce request in any order. */
function ordered(answer: object): object {
  for (const { partitionResponses } of (answer as Places).responses ?? [])
    partitionResponses?.sort((a, b) => a.index - b.index);
  (answer as Places).responses?.sort((a, b) => ((a.name ?? '') < (b.name ?? '') ? -1 : 1));
  return answer;
}

export const apiVersions = (): WireRequest =>
  ofPlatformatic('ApiVersions', apiVersionsV3, () => apiVersionsV3.createRequest(CLIENT_ID, '1'));

/** As the product writes it. */
export const produce = (batches: readonly Batch[], timeoutMs = TIMEOUT_MS): WireRequest =>
  ofPlatformatic('Produce', produceV11, () => encodeProduce(batches, timeoutMs));

export const fetch = (topicId: string, { partition, offset, maxWaitMs }: FetchFrom): WireRequest => {
  const of = { partition, currentLeaderEpoch: -1, fetchOffset: BigInt(offset), lastFetchedEpoch: -1 };
  const topics = [{ topicId, partitions: [{ ...of, partitionMaxBytes: MAX_BYTES }] }];
  return ofPlatformatic('Fetch', fetchV17, () =>
    fetchV17.createRequest(maxWaitMs, 1, MAX_BYTES, READ_COMMITTED, 0, -1, topics, [], ''),
  );
};

export const listOffsets = (name: string, partitionIndex: number, timestamp: bigint): WireRequest =>
  ofPlatformatic('ListOffsets', listOffsetsV9, () =>
    listOffsetsV9.createRequest(CONSUMER, READ_COMMITTED, [
      { name, partitions: [{ partitionIndex, currentLeaderEpoch: -1, timestamp }] },
    ]),
  );

export const metadata = (topics: readonly string[]): WireRequest =>
  ofPlatformatic('Metadata', metadataV12, () => metadataV12.createRequest([...topics], false, false));
