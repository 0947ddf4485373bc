import avro from 'avsc';
import { expect, it } from 'vitest';
import { Book } from '../../../deploy/examples/ledger/book.ts';
import { createEventReader } from '../../../deploy/examples/ledger/read-event.ts';
import { eventSchemasWith, ownEventSchemas } from '../../support/event-schemas.ts';

const string = (name: string) => ({ name, type: 'string' as const });
const type = avro.Type.forSchema({
  type: 'record',
  name: 'PaymentStatus',
  fields: [
    string('eventId'),
    string('entityId'),
    string('subscription'),
    { name: 'receivedAt', type: 'long' },
    { name: 'status', type: ['null', 'string'] },
    string('source'),
    { name: 'more', type: { type: 'array', items: 'null' } },
  ],
});
const event = {
  eventId: 'e',
  entityId: 'p',
  subscription: 'eu',
  receivedAt: 7,
  status: 'ACCC',
  source: '{}',
};
const noFetch = () => expect.fail('nothing is fetched');
const HEAD = Buffer.from('0000000007', 'hex');

it('the ledger reads events, and passes over what is none', async () => {
  const read = createEventReader(async () => type, noFetch);
  const binary = type.toBuffer({ ...event, more: [] });
  const { receivedAt: statedAt, ...others } = event;
  expect(await read(Buffer.concat([HEAD, binary]))).toEqual({ ...others, statedAt });
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
  const read = createEventReader(async () => ({ message: 'a Protobuf schema' }), noFetch);
  expect(await read(Buffer.concat([HEAD, Buffer.from([1, 2])]))).toBeNull();
});

it('the ledger fetches the message of an event that refers to it, and what its record leaves out', async () => {
  const { all } = ownEventSchemas();
  const { codec, transcoder } =
    all.find(({ topic }) => topic === 'payment-status') ?? expect.fail('no schema');
  const message = JSON.stringify({
    type: 'payment-status',
    entityId: 'p',
    payload: { status: 'x'.repeat(1_000) },
  });
  const reference = { uri: 's3://events/e.json', bytes: message.length, sha256: '0'.repeat(64) };
  const found = transcoder.find(Buffer.from(message));
  const envelope = { eventId: 'e', subscription: 'ledger-eu', receivedAt: 0 };
  const { value } = found.writeWithout(envelope, 7, () => {}, { reference, maxBytes: 500 });
  const asked: unknown[] = [];
  const read = createEventReader(
    async () => avro.Type.forSchema(JSON.parse(codec.schema), { wrapUnions: 'never' }),
    async (wanted) => {
      asked.push(wanted);
      return message;
    },
  );
  expect(await read(value)).toEqual({
    eventId: 'e',
    entityId: 'p',
    subscription: 'ledger-eu',
    statedAt: 0,
    status: 'x'.repeat(1_000),
    source: message,
  });
  expect(asked).toMatchObject([{ ...reference, omitted: ['status'] }]);
});

it('the ledger books an event whose message is kept nowhere, by its typed fields', async () => {
  const { all } = eventSchemasWith({ 'payment-status': 'omit' });
  const { codec, transcoder } =
    all.find(({ topic }) => topic === 'payment-status') ?? expect.fail('no schema');
  const found = transcoder.find(
    Buffer.from('{"type":"payment-status","entityId":"p","payload":{"status":"ACCC"}}'),
  );
  const envelope = { eventId: 'e', subscription: 'ledger-eu', receivedAt: 0 };
  const { value } = found.writeWithout(envelope, 7, () => {}, { reference: undefined, maxBytes: 500 });
  const read = createEventReader(
    async () => avro.Type.forSchema(JSON.parse(codec.schema), { wrapUnions: 'never' }),
    noFetch,
  );
  const event = (await read(value)) ?? expect.fail('no event');
  expect(event).toMatchObject({ eventId: 'e', entityId: 'p', status: 'ACCC', source: null });
  using book = new Book(':memory:');
  expect([book.book(event), book.book(event)]).toEqual([true, false]);
  expect(book.payments()).toEqual([{ entityId: 'p', status: 'ACCC', changes: 1 }]);
});

it.each([
  ['{"type":"payment-status","entityId":4711,"payload":{"status":"ACCC"}}', 'e', 'ACCC'],
  ['{"type":"payment-status","payload":{"status":"ACCC"}}', 'e', 'ACCC'],
  ['{"type":"payment-status","entityId":"p","payload":{"status":7}}', 'p', '7'],
  ['{"type":"payment-status","entityId":"p","payload":{"status":1.50}}', 'p', '1.50'],
  ['{"type":"payment-status","entityId":"p","payload":{"status":9007199254740993}}', 'p', '9007199254740993'],
  ['{"type":"payment-status","entityId":"p","payload":null}', 'p', null],
])(
  'the ledger books an event whose message does not fit its fields, by the message: %s',
  async (message, entityId, status) => {
    const { all } = ownEventSchemas();
    const { codec, transcoder } =
      all.find(({ topic }) => topic === 'payment-status') ?? expect.fail('no schema');
    const envelope = { eventId: 'e', subscription: 'ledger-eu', receivedAt: 0 };
    const value = transcoder.find(Buffer.from(message)).write(envelope, 7, () => {});
    const read = createEventReader(
      async () => avro.Type.forSchema(JSON.parse(codec.schema), { wrapUnions: 'never' }),
      noFetch,
    );
    expect(await read(value)).toMatchObject({ eventId: 'e', entityId, status, source: message });
  },
);

it.each([
  ['thousands of levels', `${'['.repeat(10_000)}${']'.repeat(10_000)}`],
  ['millions of numbers', `[${'0,'.repeat(8_000_000)}0]`],
])('the ledger is not held up by a message without a time that has %s', async (_, junk) => {
  const message = `{"type":"payment-status","entityId":"p","payload":{"status":7.0,"junk":${junk}}}`;
  // Read in the way that takes no moment for each number: it keeps no digits, or the status would be 7.0.
  expect(await readReceived(message, 5)).toMatchObject({ entityId: 'p', status: '7', statedAt: 5 });
});

const reportOf = (status: unknown, CreDtTm: unknown) =>
  JSON.stringify({
    type: 'payment-status',
    entityId: 'p',
    payload: { status, pacs002: { FIToFIPmtStsRpt: { GrpHdr: { MsgId: 'm', CreDtTm } } } },
  });

/** What the ledger reads of a message that was received at a time. */
async function readReceived(message: string, receivedAt: number, eventId = 'e') {
  const { codec, transcoder } =
    ownEventSchemas().all.find(({ topic }) => topic === 'payment-status') ?? expect.fail('no schema');
  const envelope = { eventId, subscription: 'ledger-eu', receivedAt };
  const value = transcoder.find(Buffer.from(message)).write(envelope, 7, () => {});
  const read = createEventReader(
    async () => avro.Type.forSchema(JSON.parse(codec.schema), { wrapUnions: 'never' }),
    noFetch,
  );
  return (await read(value)) ?? expect.fail('no event');
}

it.each([
  ['2026-11-28T10:00:00.250Z', Date.UTC(2026, 10, 28, 10, 0, 0, 250)],
  ['2026-11-28T10:00:00+01:00', Date.UTC(2026, 10, 28, 9)],
  ['2026-11-28T10:00:00', Date.UTC(2026, 10, 28, 10)],
  ['yesterday', 5],
  [7, 5],
  [undefined, 5],
])('the ledger takes the time that the message has, or that of its receipt: %s', async (time, statedAt) => {
  expect(await readReceived(reportOf('ACCC', time), 5)).toMatchObject({ statedAt });
});

it('the ledger keeps the latest status when the provider sends an earlier one again, which it had refused', async () => {
  using book = new Book(':memory:');
  const at = (minute: number) => `2026-11-28T10:0${minute}:00Z`;
  book.book(await readReceived(reportOf('RCVD', at(1)), Date.parse(at(1)), 'e-1'));
  book.book(await readReceived(reportOf('ACSP', at(3)), Date.parse(at(3)), 'e-3'));
  book.book(await readReceived(reportOf('PDNG', at(2)), Date.parse(at(9)), 'e-2'));
  expect(book.payments()).toEqual([{ entityId: 'p', status: 'ACSP', changes: 3 }]);
});
