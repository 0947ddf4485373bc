import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Delivery } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';

const MAX_HEADERS = 100;

/**
 * What Node's parser lets through although RFC 9112 asks for a 400: requests that a proxy in front could read in another
 * way than we do.
 * @returns how the head is at fault, if it is
 */
export function faultOfHead(request: IncomingMessage): 'HEADERS_TOO_LARGE' | 'REQUEST_MALFORMED' | undefined {
  const { rawHeaders, headers, httpVersion } = request;
  if (rawHeaders.length > 2 * MAX_HEADERS) return 'HEADERS_TOO_LARGE';
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  const coding = headers['transfer-encoding'];
  if (httpVersion === '1.1') {
    return hosts === 1 && (coding === undefined || coding.toLowerCase() === 'chunked')
      ? undefined
      : 'REQUEST_MALFORMED';
  }
  // HTTP/1.0 has neither a Host that must be there nor a transfer coding.
  return httpVersion === '1.0' && hosts <= 1 && coding === undefined ? undefined : 'REQUEST_MALFORMED';
}

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
