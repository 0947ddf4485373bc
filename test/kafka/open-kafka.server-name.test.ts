import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import { openKafka } from '../../src/kafka/open-kafka.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { kafkaSettingsWith } from '../support/connection-settings.ts';
import { hasIpv6 } from '../support/ip-families.ts';
import { makeAuthority } from '../support/secure/certificates.ts';

const dir = mkdtempSync(join(tmpdir(), 'hookline-names-'));
afterAll(() => rmSync(dir, { recursive: true }));
const authority = makeAuthority(dir, 'authority');
const identity = authority.issue('server', 'DNS:localhost,IP:127.0.0.1,IP:::1');

/** A port that learns which name a client asks for, as the router in front of a hosted cluster does, and hangs up. */
async function startRouter() {
  const asked: unknown[] = [];
  const pem = { cert: readFileSync(identity.certFile), key: readFileSync(identity.keyFile) };
  const server = createServer(pem, (socket) => {
    asked.push(socket.servername);
    socket.destroy();
  });
  await once(server.listen(0), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    asked,
    port,
    [Symbol.asyncDispose]: () => new Promise<void>((done) => server.close(() => done())),
  };
}

const kafkaAt = (broker: string) =>
  openKafka({
    settings: kafkaSettingsWith({ brokers: [broker], ssl: true, caFile: authority.caFile }),
    files: { renewed() {}, unusable() {} },
    clock: systemClock,
    clientId: 'test',
    log: () => {},
  });

const IPV6: [host: string, name: false][] = hasIpv6 ? [['[::1]', false]] : [];

describe('over TLS', () => {
  it.each<[host: string, name: string | false]>([['localhost', 'localhost'], ['127.0.0.1', false], ...IPV6])(
    'to %s, both clients ask for the name %s',
    async (host, name) => {
      await using router = await startRouter();
      const { client, openSession } = kafkaAt(`${host}:${router.port}`);
      const session = openSession(0);
      await expect(session.partitionsOf('t')).rejects.toThrow();
      session.destroy();
      const admin = client.admin({ retry: { retries: 0 } });
      await expect(admin.connect().then(() => admin.listTopics())).rejects.toThrow();
      await admin.disconnect();
      expect(router.asked.length).toBeGreaterThan(1);
      expect(new Set(router.asked)).toEqual(new Set([name]));
    },
  );
});
