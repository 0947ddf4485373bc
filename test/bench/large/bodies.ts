import { createHash, randomUUID } from 'node:crypto';
import { sealBody } from '../../support/seal.ts';
import { signatureOf } from '../../support/sign.ts';
import { SUBSCRIPTION } from '../load/bodies.ts';

export const SHAPES = ['list', 'text'] as const;
/** A payment status with as many transactions as fit, or with one long text that no field takes. */
export type Shape = (typeof SHAPES)[number];

export type LargeBody = {
  readonly entityId: string;
  /** SHA-256 of the plain message. */
  readonly digest: string;
  readonly body: Buffer;
  readonly signature: string;
};

export const BODY_BYTES = 50_000_000;

const transaction = (n: number) => ({
  OrgnlGrpInf: { OrgnlMsgId: `ORG-20261120-${n}-ABCDEF`, OrgnlMsgNmId: 'pacs.008.001.08' },
  OrgnlInstrId: `INSTR-${n}-QWERTY`,
  OrgnlUETR: randomUUID(),
  TxSts: 'ACCC',
  InstgAgt: { FinInstnId: { BICFI: 'AAAADEFFXXX' } },
  InstdAgt: { FinInstnId: { BICFI: 'BBBBDEFFXXX' } },
});

function* transactions(): Generator<string> {
  for (let n = 0, bytes = 1_000; ; n++) {
    const text = JSON.stringify(transaction(n));
    bytes += text.length + 1;
    if (bytes > BODY_BYTES) return;
    yield text;
  }
}

/** 50 MB each, every one another's: sealed and signed. */
export function makeLargeBodies(count: number, shape: Shape): LargeBody[] {
  const list = shape === 'list' ? [...transactions()].join(',') : '';
  const filler = shape === 'text' ? 'abcdefghij'.repeat(BODY_BYTES / 10 - 100) : '';
  return Array.from({ length: count }, () => {
    const entityId = randomUUID();
    const group = JSON.stringify({ MsgId: `MSG-${entityId}`, CreDtTm: '2026-11-20T10:00:00Z' });
    const report = `{"GrpHdr":${group},"TxInfAndSts":[${list}]}`;
    const payload = `{"status":"ACCC","filler":"${filler}","pacs002":{"FIToFIPmtStsRpt":${report}}}`;
    const message = Buffer.from(`{"type":"payment-status","entityId":"${entityId}","payload":${payload}}`);
    const body = sealBody(SUBSCRIPTION.encryptionKey, message);
    const digest = createHash('sha256').update(message).digest('hex');
    return { entityId, digest, body, signature: signatureOf(SUBSCRIPTION, body) };
  });
}
