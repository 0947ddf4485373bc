import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { countedRequests, takeWhole } from '../../../src/ingress/body/counted-request.ts';
import { until } from '../../support/until.ts';

type Way = 'whole' | 'stream';
type Taken = { readonly way: Way; readonly body: string; readonly request: IncomingMessage };

/** Takes each body, and answers with it. */
async function start(onRequest?: (request: IncomingMessage, untake: () => void) => void) {
  const taken: Taken[] = [];
  const answer = (request: IncomingMessage, response: ServerResponse, way: Way, body: string) => {
    taken.push({ way, body, request });
    response.end(`${way} ${body};`);
  };
  const server = createServer({ IncomingMessage: countedRequests(() => {}) }, (request, response) => {
    const untake = takeWhole(request, {
      length: Number(request.headers['content-length']),
      take: (body) => answer(request, response, 'whole', String(body)),
      readOn: () => void text(request).then((body) => answer(request, response, 'stream', body)),
    });
    onRequest?.(request, untake as () => void);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  let answered = '';
  socket.on('data', (data) => {
    answered += String(data);
  });
  const answers = () => [...answered.matchAll(/(?:whole|stream) [^;]*(?=;)/g)].map(([one]) => one);
  return { socket, taken, answers };
}

const head = (length: number) => `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;
const turn = (socket: Socket) => new Promise((resolve) => socket.write('', () => setTimeout(resolve, 20)));

it('a body that comes in one piece passes no stream', async () => {
  const { socket, taken, answers } = await start();
  socket.write(`${head(3)}abc`);
  await until('it is answered', () => answers().length === 1);
  expect(answers()).toEqual(['whole abc']);
  const [{ request }] = taken as [Taken];
  expect([request.readableFlowing, request.complete, request.readableEnded]).toEqual([null, true, true]);
});

it('the next requests of its connection follow, in whatever way their bodies come', async () => {
  const { socket, answers } = await start();
  socket.write(`${head(3)}abc${head(2)}de`);
  await until('two are answered', () => answers().length === 2);
  socket.write(head(4));
  await turn(socket);
  socket.write('late');
  await until('the third is answered', () => answers().length === 3);
  socket.write(`${head(6)}pie`);
  await turn(socket);
  socket.write('ces');
  await until('the fourth is answered', () => answers().length === 4);
  socket.write(
    `${head(0)}POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\n\r\n`,
  );
  await until('all are answered', () => answers().length === 6);
  expect(answers()).toEqual([
    'whole abc',
    'whole de',
    'whole late',
    'stream pieces',
    'stream ',
    'stream xyz',
  ]);
});

it('one that is no longer wanted so is read as a stream', async () => {
  const bodies: string[] = [];
  const { socket, taken } = await start((request, untake) => {
    untake();
    void text(request).then((body) => bodies.push(body));
  });
  socket.write(`${head(3)}abc`);
  await until('it is read', () => bodies.length === 1);
  expect([bodies, taken]).toEqual([['abc'], []]);
});

it('a connection that ends behind it has no error', async () => {
  const errors: unknown[] = [];
  const { socket, taken } = await start((request) => request.on('error', (error) => errors.push(error)));
  socket.write(`${head(3)}abc`, () => socket.resetAndDestroy());
  await until('it has come', () => taken.length === 1);
  await turn(socket);
  expect([taken[0]?.body, errors]).toEqual(['abc', []]);
});

it('one that ends in the middle closes its request', async () => {
  const closed: string[] = [];
  const { socket, taken } = await start((request) =>
    request.on('error', () => {}).on('close', () => closed.push('closed')),
  );
  socket.write(`${head(30)}`, () => socket.destroy());
  await until('it is closed', () => closed.length === 1);
  expect(taken).toEqual([]);
});
