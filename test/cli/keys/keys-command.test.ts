import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keyRows } from '../../../src/cli/keys/key-rows.ts';
import { readIngress } from '../../../src/cli/keys/keys-command.ts';
import { samplesIn } from '../../../src/monitoring/metric-samples.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createHttp } from '../../../src/runtime/http-client.ts';
import { cli } from '../../support/cli.ts';

const KEYS = 'hookline_keys_live{ref="eu",use="signing"} 2\n';
const SPOOL = 'hookline_spool_deliveries 2\n';
const ENCRYPTION = (keys: number) => `hookline_keys_live{ref="eu",use="encryption"} ${keys}\n`;
const matches = (key: number, count: number) =>
  `hookline_key_matches_total{ref="eu",use="signing",key="${key}"} ${count}\n`;
/** By the address that is asked: only the second process still verifies by the old key. */
const METRICS: Readonly<Record<string, string>> = {
  '127.0.0.1': KEYS + matches(0, 5),
  '127.0.0.2': KEYS + matches(0, 1) + matches(1, 3),
  '127.0.0.3': ENCRYPTION(2) + SPOOL,
  '127.0.0.4': ENCRYPTION(1) + SPOOL,
};
const server = createServer(({ socket }, response) => response.end(METRICS[String(socket.localAddress)]));
const http = createHttp({ tls: {}, files: { renewed() {}, unusable() {} }, clock: systemClock });
let port: number;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(async () => {
  await http.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** A headless Service has an address for each pod. */
const addressesOf = async ({ hostname }: URL) =>
  (hostname === 'ingress-metrics' ? ['127.0.0.1', '127.0.0.2'] : [hostname]).map((host) => `${host}:${port}`);
const status = async (...hosts: string[]) => {
  const urls = hosts.map((host) => `http://${host}:${port}`);
  const samples = (await readIngress(urls, { http, addressesOf })).flat();
  return keyRows(samples).map(({ key, matches: count }) => [key, count]);
};

it('counts the matches of all processes behind a name, each process once', async () => {
  expect(await status('127.0.0.1')).toEqual([
    ['0', 5],
    ['1', 0],
  ]);
  const all = [
    ['0', 6],
    ['1', 3],
  ];
  expect(await status('ingress-metrics')).toEqual(all);
  expect(await status('ingress-metrics', '127.0.0.2')).toEqual(all);
});

it('looks at each sample a few times, however many refs there are', () => {
  const ofRef = (ref: string) =>
    ['signing', 'encryption'].flatMap((use) => [
      `hookline_keys_live{ref="${ref}",use="${use}"} 1`,
      `hookline_key_last_matched_timestamp_seconds{ref="${ref}",use="${use}",key="0"} 1700000000`,
      `hookline_key_matches_total{ref="${ref}",use="${use}",key="0"} 5`,
    ]);
  const pod = samplesIn(Array.from({ length: 200 }, (_, n) => ofRef(`ref-${n}`).join('\n')).join('\n'));
  let looks = 0;
  const counted = pod.map(({ name, labels, value }) => ({
    get name() {
      looks++;
      return name;
    },
    get labels() {
      looks++;
      return labels;
    },
    value,
  }));
  const rows = keyRows([counted, counted, counted].flat());
  // The console does this for each open page every five seconds.
  expect(looks).toBeLessThan(10 * 3 * pod.length);
  expect(rows).toHaveLength(400);
  expect(rows[0]).toEqual({
    ref: 'ref-0',
    use: 'encryption',
    key: '0',
    matches: 15,
    lastMatched: '2023-11-14T22:13:20.000Z',
  });
});

it('says how many processes it has read', async () => {
  const given = ['127.0.0.1', '127.0.0.2'].flatMap((host) => ['--ingress', `http://${host}:${port}`]);
  expect((await cli({}, 'keys', 'status', ...given)).notes).toContain('read from 2 processes');
  expect((await cli({}, 'keys', 'status', ...given.slice(2))).notes).toContain('read from 1 process');
});

it('says what else must not need an older encryption key before it is removed', async () => {
  const notes = async (host: string) =>
    (await cli({}, 'keys', 'status', '--ingress', `http://${host}:${port}`)).notes;
  expect(await notes('127.0.0.3')).toContain(
    'no delivery may wait in a spool (now: 2), and no dead-letter record from before the rotation may be open: ' +
      'hookline dlq list --filter state=open,incomplete --filter ref=eu',
  );
  // Signatures of what is stored were checked before; a single key has no older one.
  for (const host of ['127.0.0.2', '127.0.0.4'])
    expect(await notes(host)).not.toContain('dead-letter record');
});
