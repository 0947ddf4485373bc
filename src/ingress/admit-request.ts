import type { IncomingHttpHeaders } from 'node:http';
import type { Delivery } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';

/**
 * What can be said of a request before its body is read.
 * @returns the body's media type
 * @throws HooklineError MEDIA_TYPE_UNSUPPORTED, BODY_TOO_LARGE
 */
export function admitRequest(headers: IncomingHttpHeaders, maxBodyBytes: number): Delivery['mediaType'] {
  const mediaType = readMediaType(headers['content-type']);
  // A coded body could not be verified: the signature is over the bytes that the sender saw, and nobody says which.
  if (!mediaType || headers['content-encoding'] !== undefined)
    throw new HooklineError('MEDIA_TYPE_UNSUPPORTED');
  if (Number(headers['content-length']) > maxBodyBytes) throw new HooklineError('BODY_TOO_LARGE');
  return mediaType;
}

function readMediaType(contentType: string | undefined): Delivery['mediaType'] | null {
  if (contentType === 'application/json') return 'json';
  switch (contentType?.split(';', 1)[0]?.trim().toLowerCase()) {
    case 'application/json':
      return 'json';
    case 'application/octet-stream':
      return 'octet-stream';
    default:
      return null;
  }
}
