import { type Batch, encodeProduce } from '../../../src/kafka/produce/encode-batch.ts';
import { readRequest } from './messages.ts';

const HEAD = Buffer.from([0, 0, 0, 11, 0, 0, 0, 1, 0xff, 0xff, 0]);

/** A batch with one record, as the product encodes it, and read by the model's own code. */
export function batchOf(key: string, value: string): Buffer {
  const record = { key: Buffer.from(key), value: Buffer.from(value), headers: new Map(), timestamp: 1n };
  const batch: Batch = {
    topic: 't',
    partition: 0,
    records: [record],
    bytes: 0,
    isAlone: true,
    mayBegin: () => true,
  };
  const request = readRequest(Buffer.concat([HEAD, encodeProduce([batch], 1_000).buffer]));
  return request.kind === 'produce' ? (request.batches[0]?.batch ?? Buffer.alloc(0)) : Buffer.alloc(0);
}
