import { SandboxError } from '../core/errors.ts';

/** A wrong one of these would break our own connection in the place of testing the receiver. */
const TRANSPORT = [
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
];

export type ExtraHeaders = Readonly<Record<string, string | string[] | null>>;

/** Headers to lay over a delivery's own, by lower-case names; their form is RFC 9110's, section 5. */
export function readHeaders(headers: ExtraHeaders): ExtraHeaders {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const lower = name.toLowerCase();
      if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(lower)) throw refusal(name, 'is not a header name');
      if (TRANSPORT.includes(lower)) throw refusal(name, "belongs to the transport and can't be set");
      if (![value ?? []].flat().every((one) => /^[\t\x20-\x7e]*$/.test(one))) {
        throw refusal(name, 'must have a value of printable ASCII characters');
      }
      return [lower, value];
    }),
  );
}

const refusal = (name: string, why: string) =>
  new SandboxError('invalid_request', `headers: ${JSON.stringify(name.slice(0, 60))} ${why}.`);
