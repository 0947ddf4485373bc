import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { until } from '../../support/until.ts';
import { type Backend, Balancer } from './balancer.ts';

type Process = Backend & { server: Server; ready: boolean };
let balancer: Balancer;
let processes: Process[];

/** Answers with its number, and says whether it is ready under /readyz. */
async function open(): Promise<Process> {
  const number = processes.length;
  const server = createServer((request, response) => {
    if (request.url === '/readyz') response.writeHead(one.ready ? 200 : 503).end();
    else response.writeHead(200, { connection: 'close' }).end(String(number));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const one = { port, readyUrl: `http://127.0.0.1:${port}/readyz`, server, ready: true };
  processes.push(one);
  return one;
}

beforeEach(async () => {
  processes = [];
  balancer = await Balancer.start();
});

afterEach(async () => {
  await balancer[Symbol.asyncDispose]();
  for (const { server } of processes) server.close();
});

const ask = async () => (await fetch(balancer.url)).text();
const askAll = (count: number) => Promise.all(Array.from({ length: count }, ask));

it('spreads connections over the processes that are ready', async () => {
  const [first] = [await open(), await open()];
  for (const one of processes) await balancer.add(one);
  expect(new Set(await askAll(10))).toEqual(new Set(['0', '1']));
  if (first) first.ready = false;
  await until('the first one is out', async () => !(await askAll(4)).includes('0'));
  expect(new Set(await askAll(10))).toEqual(new Set(['1']));
});

it('tries another process where one refuses, before the probe has noticed', async () => {
  const [first] = [await open(), await open()];
  for (const one of processes) await balancer.add(one);
  first?.server.closeAllConnections();
  first?.server.close();
  expect(await askAll(10)).toEqual(Array.from({ length: 10 }, () => '1'));
});

it('lets a connection wait for a process that is coming', async () => {
  const answer = ask();
  await balancer.add(await open());
  expect(await answer).toBe('0');
});
