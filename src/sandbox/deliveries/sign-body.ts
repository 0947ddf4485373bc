import { createHmac } from 'node:crypto';
import { workInPieces } from './work-in-pieces.ts';

/**
 * The value of X-Signature-SHA256, 6.3 of the interface: HMAC-SHA256 over the body as sent, 64 lowercase hexadecimal
 * digits. The key is 72 characters: the subscription's id, then its signing secret.
 */
export async function signBody(
  body: Buffer,
  subscription: { id: string; signingSecret: string },
): Promise<string> {
  const hmac = createHmac('sha256', `${subscription.id}${subscription.signingSecret}`);
  await workInPieces(body, (piece) => hmac.update(piece));
  return hmac.digest('hex');
}
