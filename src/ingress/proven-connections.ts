import type { Duplex } from 'node:stream';

const PROVEN = Symbol('delivered a verified webhook');

type Connection = Duplex & { [PROVEN]?: true };

/**
 * Remembers that a webhook with a valid signature came over this connection.
 * @param socket the one of the request: with TLS the TLSSocket, not the TCP socket below it
 */
export function markProven(socket: Duplex): void {
  // A property costs the hot path less than a WeakSet.
  (socket as Connection)[PROVEN] = true;
}

/** Whether a webhook with a valid signature came over this connection before. */
export function isProven(socket: Duplex): boolean {
  return (socket as Connection)[PROVEN] === true;
}
