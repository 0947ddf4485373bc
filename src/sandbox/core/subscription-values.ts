import { SandboxError } from './errors.ts';
import type { Json } from './json.ts';

/** Lengths of a subscription's values, from the interface (section 8). */
const ENCRYPTION_KEY_LENGTH = 32;
const SIGNING_PART_LENGTH = 36;

/** The URL of a receiver: https, and http where the sandbox allows it for local use. */
export function readReceiverUrl(value: Json | undefined, allowHttp: boolean): string {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && allowHttp)) return value as string;
  const wanted = allowHttp ? 'an absolute http or https URL' : 'an absolute https URL';
  const remedy = url?.protocol === 'http:' ? ' SANDBOX_ALLOW_HTTP_RECEIVERS=true allows http.' : '';
  throw new SandboxError('invalid_request', `The receiver's url must be ${wanted}.${remedy}`);
}

/** The encryption key, or null where none was given. Its 32 characters are the bytes of an AES-256 key. */
export function readEncryptionKey(value: Json | undefined): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' && hasBytes(value, ENCRYPTION_KEY_LENGTH)) return value;
  throw new SandboxError(
    'invalid_request',
    `The encryption key must be a string of exactly ${ENCRYPTION_KEY_LENGTH} ASCII characters.`,
  );
}

/** One half of the signature's key: a subscription id or a signing secret. */
export function readSigningPart(value: string, name: string): string {
  if (hasBytes(value, SIGNING_PART_LENGTH)) return value;
  throw new SandboxError(
    'invalid_request',
    `The ${name} must be exactly ${SIGNING_PART_LENGTH} ASCII characters.`,
  );
}

const hasBytes = (text: string, length: number) => text.length === length && /^[\x20-\x7e]*$/.test(text);
