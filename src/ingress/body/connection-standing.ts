import type { Duplex } from 'node:stream';

/** What the signatures of a connection have shown so far. */
export type Standing = 'proven' | 'refuted' | 'unknown';

const STANDING = Symbol('what the signatures of a connection have shown');

type Connection = Duplex & { [STANDING]?: Standing };

/**
 * Remembers that a webhook with a valid signature came over this connection: it stays proven.
 * @param socket the one of the request: with TLS the TLSSocket, not the TCP socket below it
 */
export function markProven(socket: Duplex): void {
  // A property costs the hot path less than a WeakMap.
  (socket as Connection)[STANDING] = 'proven';
}

/** Remembers that a request was answered 401, whatever the reason: its sender knows no more than that either. */
export function markRefuted(socket: Duplex): void {
  if (!isProven(socket)) (socket as Connection)[STANDING] = 'refuted';
}

export const standingOf = (socket: Duplex): Standing => (socket as Connection)[STANDING] ?? 'unknown';

export const isProven = (socket: Duplex): boolean => standingOf(socket) === 'proven';
