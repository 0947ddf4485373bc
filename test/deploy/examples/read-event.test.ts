import avro from 'avsc';
import { expect, it } from 'vitest';
import { createEventReader } from '../../../deploy/examples/ledger/read-event.ts';

const string = (name: string) => ({ name, type: 'string' as const });
const type = avro.Type.forSchema({
  type: 'record',
  name: 'PaymentStatus',
  fields: [
    string('eventId'),
    string('entityId'),
    { name: 'status', type: ['null', 'string'] },
    string('source'),
    { name: 'more', type: { type: 'array', items: 'null' } },
  ],
});
const event = { eventId: 'e', entityId: 'p', status: 'ACCC', source: '{}' };
const HEAD = Buffer.from('0000000007', 'hex');

it('the ledger reads events, and passes over what is none', async () => {
  const read = createEventReader(async () => type);
  const binary = type.toBuffer({ ...event, more: [] });
  expect(await read(Buffer.concat([HEAD, binary]))).toEqual(event);
  // The last field's list claims 2^30 items.
  const claim = Buffer.concat([HEAD, binary.subarray(0, -1), Buffer.from('808080800800', 'hex')]);
  for (const value of [
    claim,
    HEAD,
    Buffer.alloc(0),
    Buffer.from('{}'),
    Buffer.concat([HEAD, Buffer.from([1, 2])]),
  ])
    expect(await read(value)).toBeNull();
});

it('the ledger passes over a record whose schema is no Avro, as that of Protobuf', async () => {
  const read = createEventReader(async () => ({ message: 'a Protobuf schema' }));
  expect(await read(Buffer.concat([HEAD, Buffer.from([1, 2])]))).toBeNull();
});
