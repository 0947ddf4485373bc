import avro from 'avsc';
import { describe, expect, it } from 'vitest';
import { createStatusReader } from '../../../deploy/examples/analytics/read-event.ts';
import { createEventDecoder } from '../../../deploy/examples/ledger/decode-event.ts';
import type { Reference } from '../../../deploy/examples/ledger/fetch-message.ts';
import { ownEventSchemas } from '../../support/event-schemas.ts';

const EVENT_ID = '0b9f6a52-3f0e-8d43-9d5e-5f1f6f1c2a77';
const transaction = { OrgnlInstrId: 'i-1', TxSts: 'ACCC' };
const messageOf = (status: string, TxInfAndSts: unknown) =>
  JSON.stringify({
    type: 'payment-status',
    entityId: 'p-1',
    payload: {
      status,
      pacs002: { FIToFIPmtStsRpt: { GrpHdr: { MsgId: 'm', CreDtTm: '2026-01-01T00:00:00Z' }, TxInfAndSts } },
    },
  });

const { codec, transcoder } =
  ownEventSchemas().all.find(({ topic }) => topic === 'payment-status') ?? expect.fail('no schema');
const schemaOf = async () => avro.Type.forSchema(JSON.parse(codec.schema), { wrapUnions: 'never' });
const envelope = { eventId: EVENT_ID, subscription: 'analytics', receivedAt: 1_767_225_600_000 };

/** What is read of a message's record, and which messages were fetched for it. */
async function read(message: string, maxBytes?: number) {
  const found = transcoder.find(Buffer.from(message));
  const reference = { uri: 's3://events/e.json', bytes: message.length, sha256: '0'.repeat(64) };
  const value =
    maxBytes === undefined
      ? found.write(envelope, 7, () => {})
      : found.writeWithout(envelope, 7, () => {}, { reference, maxBytes }).value;
  const fetched: Reference[] = [];
  const reader = createStatusReader(createEventDecoder(schemaOf), async (one) => {
    fetched.push(one);
    return message;
  });
  return { event: await reader(value), fetched };
}

const expected = (status: string, transactions: unknown[]) => ({
  eventId: EVENT_ID,
  entityId: 'p-1',
  ref: 'analytics',
  receivedAt: 1_767_225_600_000,
  status,
  transactions,
  createdAt: Date.UTC(2026, 0, 1),
});

describe('an event for the table', () => {
  it('is read from its record', async () => {
    const { event, fetched } = await read(messageOf('ACCC', [transaction]));
    expect(event).toMatchObject(expected('ACCC', [transaction]));
    expect(fetched).toEqual([]);
  });

  it.each([
    ['the list', messageOf('ACCC', Array(50).fill(transaction)), ['pacs002.FIToFIPmtStsRpt.TxInfAndSts']],
    ['the status', messageOf('x'.repeat(900), [transaction]), ['status']],
  ])('is read from its message, if %s was left out of the record', async (_, message, omitted) => {
    const { event, fetched } = await read(message, 800);
    const { status, pacs002 } = JSON.parse(message).payload;
    expect(event).toMatchObject(expected(status, pacs002.FIToFIPmtStsRpt.TxInfAndSts));
    expect(fetched).toMatchObject([{ omitted }]);
  });

  it('has its message left where it is, if the record has all that the table needs', async () => {
    const message = messageOf('ACCC', [transaction]).replace('"m"', JSON.stringify('m'.repeat(900)));
    const { event, fetched } = await read(message, 800);
    expect(event).toMatchObject(expected('ACCC', [transaction]));
    expect(fetched).toEqual([]);
  });

  it.each([
    ['is no list', 'no list'],
    ['is missing', undefined],
  ])('has no transactions, if its TxInfAndSts %s', async (_, list) => {
    expect((await read(messageOf('ACCC', list))).event).toMatchObject(expected('ACCC', []));
  });

  it('is none, if the value is of another schema, or not Avro', async () => {
    const reader = createStatusReader(
      createEventDecoder(async () => avro.Type.forSchema({ type: 'record', name: 'R', fields: [] })),
      () => expect.fail('nothing is fetched'),
    );
    for (const value of ['{}', Buffer.from('000000000700', 'hex'), Buffer.from('0000000007', 'hex')])
      expect(await reader(Buffer.from(value))).toBeNull();
  });

  it('is none, if its id is no UUID, which is the key of the table', async () => {
    const type = await schemaOf();
    const record = Object.fromEntries(
      ['type', 'entityId', 'source', 'sourceRef', 'status', 'pacs002'].map((name) => [name, null]),
    );
    const reader = createStatusReader(createEventDecoder(schemaOf), () => expect.fail('nothing is fetched'));
    const recordOf = (eventId: string) =>
      Buffer.concat([Buffer.from('0000000007', 'hex'), type.toBuffer({ ...record, ...envelope, eventId })]);
    expect(await reader(recordOf('e-1'))).toBeNull();
    expect(await reader(recordOf(EVENT_ID))).toMatchObject({ eventId: EVENT_ID });
  });

  it('waits for an object store or a registry that does not answer', async () => {
    const noFetch = () => expect.fail('nothing is fetched');
    const failing = async () => Promise.reject(new Error('does not answer'));
    const value = transcoder.find(Buffer.from(messageOf('ACCC', []))).write(envelope, 7, () => {});
    await expect(createStatusReader(createEventDecoder(failing), noFetch)(value)).rejects.toThrow(
      'not answer',
    );
    const message = messageOf('ACCC', Array(50).fill(transaction));
    const reference = { uri: 's3://events/e.json', bytes: 1, sha256: '' };
    const found = transcoder.find(Buffer.from(message));
    const without = found.writeWithout(envelope, 7, () => {}, { reference, maxBytes: 800 });
    const reader = createStatusReader(createEventDecoder(schemaOf), failing);
    await expect(reader(without.value)).rejects.toThrow('does not answer');
  });
});
