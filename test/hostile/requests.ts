import { makeRequest, SUBSCRIPTION } from '../bench/load/bodies.ts';

export const KNOWN_REF = SUBSCRIPTION.ref;
export const UNKNOWN_REF = 'nobody-here';
/** Of the right form, and wrong. */
const WRONG_SIGNATURE = '0123456789abcdef'.repeat(4);

export type HeadOptions = {
  readonly ref?: string;
  readonly signature?: string | undefined;
  /** Further header lines. */
  readonly headers?: readonly string[];
};

/** The head of a webhook, up to and with the empty line. */
export function headOf({ ref = KNOWN_REF, signature = WRONG_SIGNATURE, headers = [] }: HeadOptions): string {
  return [
    `POST /webhooks/${ref} HTTP/1.1`,
    'Host: hostile',
    'Content-Type: application/json',
    ...(signature === undefined || signature === '' ? [] : [`X-Signature-SHA256: ${signature}`]),
    ...headers,
    '',
    '',
  ].join('\r\n');
}

/** A whole webhook with a valid signature. */
export function signedRequest(n: number): string {
  const { body, signature } = makeRequest(n, 'plain');
  return headOf({ signature, headers: [`Content-Length: ${body.length}`] }) + body.toString();
}

export const base64 = (text: string) => Buffer.from(text, 'latin1').toString('base64');
