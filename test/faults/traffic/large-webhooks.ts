import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sealBody } from '../../support/seal.ts';
import { postSigned } from '../../support/sign.ts';
import type { Subscription } from './webhooks.ts';

const TRANSACTIONS = 10_000;
const AGAIN_AFTER_MS = 50;
const ACKNOWLEDGED_WITHIN_MS = 60_000;

export const digestOf = (source: string): string => createHash('sha256').update(source).digest('hex');

/** A payment status of some 3 MB, a list and a text, both random: a part of another one in it would change its digest. */
function largeMessage(entityId: string): string {
  const list = Array.from({ length: TRANSACTIONS }, () => {
    const random = randomBytes(24).toString('hex');
    return `{"OrgnlInstrId":"I-${random}","OrgnlUETR":"${randomUUID()}","TxSts":"ACSC"}`;
  });
  const report = `{"TxInfAndSts":[${list.join(',')}]}`;
  const text = randomBytes(750_000).toString('hex');
  return `{"type":"payment-status","entityId":"${entityId}","payload":{"pacs002":{"FIToFIPmtStsRpt":${report}},"text":"${text}"}}`;
}

/**
 * Sends so many large webhooks, one after the other, each until it is acknowledged; gives their digests by entity.
 * @throws Error where one is not within a minute
 */
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
    const giveUpAt = performance.now() + ACKNOWLEDGED_WITHIN_MS;
    for (;;) {
      const { status } = await postSigned(`${url}/webhooks/${subscription.ref}`, subscription, body, headers);
      if (status === 200) break;
      if (performance.now() > giveUpAt) throw new Error(`a large webhook is still answered ${status}`);
      await sleep(AGAIN_AFTER_MS);
    }
    digests.set(entityId, digestOf(message));
  }
  return digests;
}
