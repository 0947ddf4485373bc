import type { Socket } from 'node:net';

/** What a TLS socket reads from and writes to, which Node shows to nobody. */
type Handle = { reset?(done: () => void): number; close(done: () => void): void };

/**
 * Ends a connection with a reset. A socket that is only destroyed leaves what was written, up to megabytes, to the machine, which
 * goes on sending it after that, for minutes where the other side cannot be reached meanwhile (Linux: tcp_orphan_retries).
 */
export function resetSocket(socket: Socket): void {
  const below = (socket as { _handle?: { _parent?: Handle } })._handle?._parent;
  // Nothing was written yet, and it could not be reset.
  if (socket.connecting) return void socket.destroy();
  if (!below) return void socket.resetAndDestroy();
  // `resetAndDestroy` takes no TLS socket (Node 24): the one below it is closed with a reset.
  const { close } = below;
  below.close = (done) => {
    if (below.reset?.(done) !== 0) close.call(below, done);
  };
  socket.destroy();
}
