import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CLAIMS, freePorts } from './plan-ports.ts';

it('never gives the same port twice, not even before anybody listens there', async () => {
  const [a = 0, b = 0, c = 0] = await threeFreePorts();
  const drawn = [a, a, b, b, c];
  const draw = () => drawn.shift() ?? expect.fail('more were drawn');
  expect(await freePorts(2, [], draw)).toEqual([a, b]);
  expect(await freePorts(1, [], draw)).toEqual([c]);
});

it('gives no port that another process was told of, while that runs', async () => {
  const [a = 0, b = 0] = await threeFreePorts();
  mkdirSync(CLAIMS, { recursive: true });
  writeFileSync(join(CLAIMS, String(a)), String(process.ppid));
  // No process has this number.
  writeFileSync(join(CLAIMS, String(b)), '999999999');
  const drawn = [a, b];
  expect(await freePorts(1, [], () => drawn.shift() ?? expect.fail('more were drawn'))).toEqual([b]);
  rmSync(join(CLAIMS, String(a)));
});

/** Held at the same time, so that they are three. */
async function threeFreePorts(): Promise<number[]> {
  const servers = [createServer(), createServer(), createServer()];
  await Promise.all(
    servers.map((server) => new Promise<void>((done) => server.listen(0, '127.0.0.1', done))),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}
