import type { Socket } from 'node:net';
import type { Clock } from '../../../src/runtime/clock.ts';
import type { Http, HttpAnswer, HttpRequest } from '../../../src/runtime/http-client.ts';
import type { Actor } from '../engine/simulation.ts';
import type { Network } from '../net/network.ts';
import { readMessage, writeMessage } from './http-wire.ts';

/** As undici has it in src/runtime/http-client.ts. */
const CONNECT_MS = 5_000;

/** A request that a process begins: all checks are behind it. */
export type Begun = {
  readonly at: number;
  readonly actor: Actor;
  readonly what: string;
  /** Of its answer; undefined where the process has got none. */
  status?: number;
};

/** All requests that processes have begun, in order. */
export class BegunCalls {
  readonly all: Begun[] = [];
  #armed: { readonly actor: Actor; left: number; readonly effects: number } | undefined;

  /** The process dies so many effects behind the beginning of its nth call from now. */
  dieAtCall(actor: Actor, n: number, effects: number): void {
    this.#armed = { actor, left: n, effects };
  }

  disarm(): void {
    this.#armed = undefined;
  }

  note(begun: Begun): void {
    this.all.push(begun);
    const armed = this.#armed;
    if (armed?.actor !== begun.actor || --armed.left > 0) return;
    this.#armed = undefined;
    begun.actor.dieAfter(armed.effects);
  }
}

/**
 * What src/runtime/http-client.ts does, over the simulated sockets: a connection for each request. undici itself cannot be
 * there: its timers are one wheel for the whole thread, and two processes of a simulation share the thread.
 */
export function simulatedHttp(
  network: Network,
  actor: Actor,
  { clock, begun }: { readonly clock: Clock; readonly begun: BegunCalls },
): Http {
  const open = new Set<(error: Error) => void>();
  return {
    send(request) {
      const what = `${request.method} ${new URL(request.url).pathname}`;
      const call: Begun = { at: clock.now(), actor, what };
      begun.note(call);
      const { hostname, port } = new URL(request.url);
      const socket = network.connect({ host: hostname, port: Number(port), timeout: CONNECT_MS });
      return new Promise<HttpAnswer>((resolve, reject) => {
        const finish = (settle: () => void) => {
          if (!open.delete(fail)) return;
          timer.cancel();
          socket.destroy();
          settle();
        };
        const fail = (error: Error) => finish(() => reject(error));
        open.add(fail);
        const late = () => fail(new DOMException(`no whole answer`, 'TimeoutError'));
        const timer = clock.after(request.timeoutMs, late);
        const answered = (answer: HttpAnswer) => {
          call.status = answer.status;
          finish(() => resolve(answer));
        };
        exchange(socket, actor.name, request, answered, fail);
      });
    },
    async stop() {
      for (const fail of [...open]) fail(new Error('the client is destroyed'));
    },
  };
}

function exchange(
  socket: Socket,
  agent: string,
  { method, url, headers, body = '' }: HttpRequest,
  resolve: (answer: HttpAnswer) => void,
  reject: (error: Error) => void,
): void {
  const { host, pathname } = new URL(url);
  let received = Buffer.alloc(0);
  socket.once('connect', () => {
    socket.write(
      writeMessage({
        first: `${method} ${pathname} HTTP/1.1`,
        headers: { ...headers, host, 'user-agent': agent },
        body,
      }),
    );
  });
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    const answer = readMessage(received);
    if (!answer) return;
    const status = Number(answer.first.split(' ')[1]);
    resolve({ status, retryAfter: answer.headers['retry-after'], body: answer.body });
  });
  socket.on('timeout', () =>
    reject(Object.assign(new Error('connect'), { code: 'UND_ERR_CONNECT_TIMEOUT' })),
  );
  socket.on('error', reject);
  socket.on('close', () => reject(Object.assign(new Error('closed'), { code: 'UND_ERR_SOCKET' })));
}
