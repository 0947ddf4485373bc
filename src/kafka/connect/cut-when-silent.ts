import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { resetSocket } from './platformatic-client.ts';

/** As @platformatic/kafka 2.12.1 sends a request; the last argument is called with its answer, or its failure. */
type Send = (...request: [...unknown[], (...answer: unknown[]) => void]) => unknown;

/**
 * Cuts a connection on which an answer is awaited and nothing comes for so long. The client's own time-out counts from the
 * request, so that an answer of 50 MB would never come whole over a slow line.
 */
export function cutWhenSilent(connection: object, silentMs: number, clock: Pick<Clock, 'every'>): void {
  const made = connection as { send: Send; readonly socket?: Socket };
  const send = made.send.bind(made);
  let awaited = 0;
  let watch: Timer | undefined;
  const begin = () => {
    let before = made.socket?.bytesRead;
    watch = clock.every(silentMs, () => {
      const read = made.socket?.bytesRead;
      if (read === before && made.socket)
        resetSocket(made.socket, new Error(`the broker sent nothing for ${silentMs} ms`));
      before = read;
    });
  };
  made.send = (...request) => {
    const done = request.pop() as (...answer: unknown[]) => void;
    if (awaited++ === 0) begin();
    return send(...request, (...answer) => {
      if (--awaited === 0) watch?.cancel();
      done(...answer);
    });
  };
}
