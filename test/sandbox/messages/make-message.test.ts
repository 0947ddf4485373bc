import { describe, expect, it } from 'vitest';
import { describeRaw, type MessageSpec, makeMessage } from '../../../src/sandbox/messages/make-message.ts';

const SPEC: MessageSpec = {
  event: 'payment-status',
  seed: 7,
  startMs: Date.parse('2026-01-05T08:00:00Z'),
  type: 'payment-status',
  entities: null,
  status: 'ACCC',
  transactions: 1,
  overrides: null,
  set: {},
  sizeBytes: null,
};
const make = (change: Partial<MessageSpec> = {}, n = 0) => {
  const made = makeMessage({ ...SPEC, ...change }, n);
  return { ...made, json: JSON.parse(made.bytes.toString('utf8')) };
};
const UUID_4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const BIC = /^[A-Z]{6}[A-Z0-9]{2}[A-Z0-9]{3}$/;

describe('a payment-status message', () => {
  it('has every field of section 6.2 and no other', () => {
    const { json, type, entityId } = make({ transactions: 2 });
    expect([type, entityId]).toEqual(['payment-status', json.entityId]);
    const transaction = {
      OrgnlGrpInf: { OrgnlMsgId: expect.stringMatching(/^OM\w{10,33}$/), OrgnlMsgNmId: 'pacs.008.001.08' },
      OrgnlInstrId: expect.stringMatching(/^IN\w{10,33}$/),
      OrgnlUETR: expect.stringMatching(UUID_4),
      TxSts: 'ACCC',
      InstgAgt: { FinInstnId: { BICFI: expect.stringMatching(BIC) } },
      InstdAgt: { FinInstnId: { BICFI: expect.stringMatching(BIC) } },
    };
    expect(json).toEqual({
      type: 'payment-status',
      entityId: expect.stringMatching(UUID_4),
      payload: {
        status: 'ACCC',
        pacs002: {
          FIToFIPmtStsRpt: {
            GrpHdr: { MsgId: expect.stringMatching(/^SR\w{10,33}$/), CreDtTm: '2026-01-05T08:00:00.000Z' },
            TxInfAndSts: [transaction, transaction],
          },
        },
      },
    });
  });

  it('carries another status in both places', () => {
    const { payload } = make({ status: 'RJCT' }).json;
    expect([payload.status, payload.pacs002.FIToFIPmtStsRpt.TxInfAndSts[0].TxSts]).toEqual(['RJCT', 'RJCT']);
  });
});

it.each(['accounts-entries', 'collection-status'] as const)('%s says that it is made up', (event) => {
  const { json } = make({ event, type: event });
  expect(json).toMatchObject({ type: event, entityId: expect.stringMatching(UUID_4) });
  expect(json.payload.sandboxOnly).toContain('the interface does not show this payload');
});

describe('a run of messages', () => {
  it('is the same for the same seed, and another for another', () => {
    const run = (seed: number) => [0, 1, 2].map((n) => make({ seed }, n).bytes.toString());
    expect(run(7)).toEqual(run(7));
    expect(new Set([...run(7), ...run(8)]).size).toBe(6);
  });

  it('takes its entities in turn, or gives each message its own', () => {
    const ids = (entities: number | null) => [0, 1, 2, 3].map((n) => make({ entities }, n).entityId);
    const [a, b, c, d] = ids(2);
    expect([c, d]).toEqual([a, b]);
    expect(new Set(ids(null)).size).toBe(4);
    expect(new Set(ids(1)).size).toBe(1);
  });
});

describe('what is asked for on top', () => {
  it('is merged deep, and set by pointers', () => {
    const { json, entityId } = make({
      overrides: { entityId: 'e-1', payload: { status: 'PDNG', extra: [1] }, type: 'x' },
      set: { '/payload/extra/-': null, '/payload/pacs002/FIToFIPmtStsRpt/TxInfAndSts/0/TxSts': 'RJCT' },
    });
    expect(entityId).toBe('e-1');
    expect(json).toMatchObject({ type: 'x', payload: { status: 'PDNG', extra: [1, null] } });
    expect(json.payload.pacs002.FIToFIPmtStsRpt.TxInfAndSts[0].TxSts).toBe('RJCT');
  });

  it('does not grow from one message to the next', () => {
    const change = {
      overrides: { payload: { list: [] } },
      set: { '/payload/list/-': 1, '/new': {}, '/new/x': 1 },
    };
    for (const n of [0, 1, 2]) expect(make(change, n).json).toMatchObject({ payload: { list: [1] } });
    expect(change.set['/new']).toEqual({});
  });

  it('is refused where a pointer leads nowhere', () => {
    expect(() => make({ set: { '/entityId/x': 1 } })).toThrow('set: /entityId/x goes through a value');
  });

  it('can remove what makes a message one', () => {
    expect(make({ overrides: { type: null, entityId: 7 } })).toMatchObject({ type: null, entityId: null });
  });
});

describe('a raw body', () => {
  it('is described where it is JSON, and kept whatever it is', () => {
    const described = describeRaw(Buffer.from('{"type":"a","entityId":"b","n":12345678901234567890}'));
    expect(described).toMatchObject({ type: 'a', entityId: 'b' });
    const bytes = Buffer.from([0xff, 0x00]);
    expect(describeRaw(bytes)).toEqual({ bytes, type: null, entityId: null });
  });
});
