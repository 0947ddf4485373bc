import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sealBody } from '../../support/seal.ts';
import { postSigned } from '../../support/sign.ts';
import type { Subscription } from './webhooks.ts';

const TRANSACTIONS = 10_000;
const AGAIN_AFTER_MS = 50;

export const digestOf = (source: string): string => createHash('sha256').update(source).digest('hex');

/** A payment status of some 3 MB, a list and a text, no byte of which another one has at the same place. */
function largeMessage(entityId: string): string {
  const list = Array.from({ length: TRANSACTIONS }, () => {
    const random = randomBytes(24).toString('hex');
    return `{"OrgnlInstrId":"I-${random}","OrgnlUETR":"${randomUUID()}","TxSts":"ACSC"}`;
  });
  const report = `{"TxInfAndSts":[${list.join(',')}]}`;
  const text = randomBytes(750_000).toString('hex');
  return `{"type":"payment-status","entityId":"${entityId}","payload":{"pacs002":{"FIToFIPmtStsRpt":${report}},"text":"${text}"}}`;
}

/** Sends so many large webhooks, one after the other, each until it is acknowledged; gives their digests by entity. */
export async function sendLarge(
  url: string,
  subscription: Subscription,
  count: number,
): Promise<Map<string, string>> {
  const digests = new Map<string, string>();
  for (let n = 0; n < count; n++) {
    const entityId = randomUUID();
    const message = largeMessage(entityId);
    const body = sealBody(subscription.encryptionKey, message);
    const headers = { 'content-type': 'application/octet-stream' };
    const post = () => postSigned(`${url}/webhooks/${subscription.ref}`, subscription, body, headers);
    while ((await post()).status !== 200) await sleep(AGAIN_AFTER_MS);
    digests.set(entityId, digestOf(message));
  }
  return digests;
}
