import { SandboxError } from './errors.ts';
import type { Json } from './json.ts';

/** What the interface says of a subscription's values, whatever their fields are called. */
const ENCRYPTION_KEY_LENGTH = 32;
const SIGNING_PART_LENGTH = 36;

/** An address that deliveries can go to: https, or http too where the sandbox allows it for local use. */
export function readReceiverUrl(value: Json | undefined, allowHttp: boolean): string {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && allowHttp)) return value as string;
  const wanted = allowHttp ? 'an absolute http or https address' : 'an absolute https address';
  const mend = url?.protocol === 'http:' ? ' SANDBOX_ALLOW_HTTP_RECEIVERS=true allows http.' : '';
  throw new SandboxError('invalid_request', `The receiver's url must be ${wanted}.${mend}`);
}

/** The encryption key, or null where none was given. Its characters are the bytes of an AES-256 key. */
export function readEncryptionKey(value: Json | undefined): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' && hasBytes(value, ENCRYPTION_KEY_LENGTH)) return value;
  throw new SandboxError(
    'invalid_request',
    `The encryption key must be a string of exactly ${ENCRYPTION_KEY_LENGTH} ASCII characters.`,
  );
}

/** A part of the signature's key: a subscription id or a signing secret. */
export function readSigningPart(value: string, name: string): string {
  if (hasBytes(value, SIGNING_PART_LENGTH)) return value;
  throw new SandboxError(
    'invalid_request',
    `The ${name} must be exactly ${SIGNING_PART_LENGTH} ASCII characters.`,
  );
}

const hasBytes = (text: string, length: number) => text.length === length && /^[\x20-\x7e]*$/.test(text);
