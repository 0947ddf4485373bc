import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { sealBody } from '../../support/seal.ts';
import { signatureOf } from '../../support/sign.ts';

export const FORMS = ['plain', 'sealed'] as const;
/** How a body is written: as JSON, or as an octet-stream of the default encryption layout. */
export type Form = (typeof FORMS)[number];

/** The subscription that all of the load belongs to. */
export const SUBSCRIPTION = {
  ref: 'ledger-eu',
  subscriptionId: '7f3c1c1e-52b1-4a54-9c3a-0d6b1f0c9e11',
  signingSecret: 's3cr3t-s3cr3t-s3cr3t-s3cr3t-s3cr3t-3',
  encryptionKey: '0123456789abcdef0123456789ABCDEF',
};

/** As many different bodies: no cache anywhere makes the second round of them cheaper. */
const BODIES = 5_000;

/** A payment status of the interface's section 6.2, 542 bytes long; as another type it fills a topic of its own. */
function message(n: number, type: string): string {
  const digits = (length: number) => String(n).padStart(length, '0');
  const transaction = {
    OrgnlGrpInf: { OrgnlMsgId: `ORG-20261120-${digits(10)}-ABCDEF`, OrgnlMsgNmId: 'pacs.008.001.08' },
    OrgnlInstrId: `INSTR-${digits(12)}-QWERTY`,
    OrgnlUETR: randomUUID(),
    TxSts: 'ACCC',
    InstgAgt: { FinInstnId: { BICFI: 'AAAADEFFXXX' } },
    InstdAgt: { FinInstnId: { BICFI: 'BBBBDEFFXXX' } },
  };
  const GrpHdr = { MsgId: `MSG-20261120-${digits(10)}-ABCDEF`, CreDtTm: '2026-11-20T10:00:00Z' };
  const pacs002 = { FIToFIPmtStsRpt: { GrpHdr, TxInfAndSts: [transaction] } };
  return JSON.stringify({
    type,
    entityId: randomUUID(),
    payload: { status: 'ACCC', pacs002 },
  });
}

/**
 * Writes signed requests for the load generator: per request a line with signature, content type and length, then the
 * body's bytes and a line end.
 */
export async function writeRequests(path: string, form: Form): Promise<void> {
  const file = createWriteStream(path, { mode: 0o600 });
  for (let n = 0; n < BODIES; n++) {
    const { body, mediaType, signature } = makeRequest(n, form);
    file.write(`${signature} application/${mediaType} ${body.length}\n`);
    file.write(body);
    file.write('\n');
  }
  file.end();
  await once(file, 'close');
}

export type SignedRequest = {
  readonly body: Buffer;
  readonly signature: string;
  readonly mediaType: 'json' | 'octet-stream';
};

/** One webhook of such a body. */
export function makeRequest(n: number, form: Form, type = 'payment-status'): SignedRequest {
  const plain = Buffer.from(message(n, type));
  const body = form === 'sealed' ? sealBody(SUBSCRIPTION.encryptionKey, plain) : plain;
  const mediaType = form === 'sealed' ? 'octet-stream' : 'json';
  return { body, mediaType, signature: signatureOf(SUBSCRIPTION, body) };
}
