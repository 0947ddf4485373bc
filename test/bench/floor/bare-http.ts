/** The floor below the floor: bare `node:http` that reads the same POST and gives the same answer. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const ANSWER = '{"eventId":"00000000-0000-8000-8000-000000000000","stored":"kafka"}';
const HEADERS = { 'content-type': 'application/json', 'content-length': ANSWER.length };

const server = createServer((request, response) => {
  request.resume().on('end', () => response.writeHead(200, HEADERS).end(ANSWER));
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(0));
server.listen(0, process.env.INGRESS_HOST ?? '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ msg: 'listening', url: `http://127.0.0.1:${port}` })}\n`);
});
