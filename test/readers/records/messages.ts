import { randomUUID } from 'node:crypto';
import type { Topic } from './cells.ts';
import type { Json } from './expected-value.ts';

/** Outside ASCII, and in several planes: a reader that takes the bytes for another encoding changes their hash. */
const NAME = 'Zoë Ångström, 東京, 🏦';

const agent = (bic: string) => ({ FinInstnId: { BICFI: bic } });

const transaction = (n: number) => ({
  OrgnlGrpInf: { OrgnlMsgId: `ORG-${n}`, OrgnlMsgNmId: 'pacs.008.001.08' },
  OrgnlInstrId: `INSTR-${n}-${NAME}`,
  OrgnlUETR: randomUUID(),
  TxSts: 'ACCC',
  InstgAgt: agent('AAAADEFFXXX'),
  InstdAgt: agent('BBBBDEFFXXX'),
});

/** Two transactions, one with gaps, and an entry that is no object: null in schemas 0.1, a record of nulls in 1.0. */
const PAYLOADS: Readonly<Record<Topic, () => Json>> = {
  'payment-status': () => ({
    status: 'ACCC',
    pacs002: {
      FIToFIPmtStsRpt: {
        GrpHdr: { MsgId: 'MSG-1', CreDtTm: '2026-11-20T10:00:00Z' },
        TxInfAndSts: [transaction(1), { TxSts: 'RJCT', InstgAgt: { FinInstnId: null } }, 'no object'],
      },
    },
  }),
  'accounts-entries': () => ({ entry: 'CR', amount: '1.50', name: NAME }),
  'collection-status': () => ({ status: 'PDNG', name: NAME }),
  unclassified: () => ({ name: NAME }),
};

/** An event of a type that no schema claims. */
const typeOf = (topic: Topic) => (topic === 'unclassified' ? 'mandate-status' : topic);

/** A message of the topic with all that its schema has a field for. */
export function fullMessage(topic: Topic, entityId: string): string {
  const payload = { ...(PAYLOADS[topic]() as object), reason: `AC04 – ${NAME}` };
  return JSON.stringify({ type: typeOf(topic), entityId, payload });
}

/** A message whose fields are nearly all null. */
export const smallMessage = (topic: Topic, entityId: string): string =>
  JSON.stringify({ type: typeOf(topic), entityId });

/** A full message of so many bytes. */
export function paddedMessage(topic: Topic, entityId: string, bytes: number): string {
  const start = fullMessage(topic, entityId).slice(0, -1);
  const padding = bytes - Buffer.byteLength(`${start},"padding":""}`);
  return `${start},"padding":"${'x'.repeat(padding)}"}`;
}
