import { createHmac } from 'node:crypto';

/** X-Signature-SHA256 of a body, by the interface's section 6.3. */
export function signatureOf(
  keys: { subscriptionId: string; signingSecret: string },
  body: string | Buffer,
): string {
  return createHmac('sha256', keys.subscriptionId + keys.signingSecret)
    .update(body)
    .digest('hex');
}

/** Posts a webhook, signed unless told otherwise. Headers set to undefined are left out. */
export async function postSigned(
  url: string,
  keys: { subscriptionId: string; signingSecret: string },
  body: string | Buffer,
  headers: Record<string, string | undefined> = {},
) {
  const all = {
    'content-type': 'application/json',
    'x-signature-sha256': signatureOf(keys, body),
    ...headers,
  };
  const set = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const response = await fetch(url, { method: 'POST', body: body as string, headers: set });
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    text: await response.text(),
  };
}
