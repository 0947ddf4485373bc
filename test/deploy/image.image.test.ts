import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { freePorts } from '../stack/plan-ports.ts';
import { postSigned } from '../support/sign.ts';
import { Fixture } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';

const IMAGE = process.env.HOOKLINE_IMAGE ?? 'hookline:test';
const SANDBOX_IMAGE = process.env.HOOKLINE_SANDBOX_IMAGE ?? 'hookline-sandbox:test';
const keys = { subscriptionId: randomUUID(), signingSecret: randomUUID() };
const docker = (...args: string[]) => execFileSync('docker', args, { encoding: 'utf8' }).trim();

let fixture: Fixture;
let container: string;
let url: string;

beforeAll(async () => {
  fixture = await Fixture.make(inject('stack'));
  fixture.secrets('ledger-eu', {
    'subscription-id': keys.subscriptionId,
    'signing-secret': keys.signingSecret,
  });
  // The image's user is not the one that runs the tests.
  for (const path of ['', 'secrets', 'sealing-key']) chmodSync(join(fixture.dir, path), 0o755);
  const [port = 0, adminPort = 0] = await freePorts(2);
  url = `http://127.0.0.1:${port}/webhooks/ledger-eu`;
  const env = { ...fixture.env, INGRESS_PORT: String(port), ADMIN_PORT: String(adminPort) };
  const given = Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  const locked = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
  const reach = ['--network', 'host', '-v', `${fixture.dir}:${fixture.dir}:ro`];
  container = docker('run', '-d', ...locked, ...reach, ...given, IMAGE);
});

afterAll(async () => {
  if (container) docker('rm', '-f', container);
  await fixture?.[Symbol.asyncDispose]();
});

describe('the image, with a read-only root and no capabilities', () => {
  it('brings a signed webhook into Kafka, and is not root', async () => {
    const body = '{"type":"payment-status","entityId":"e-1","payload":{"status":"ACSC"}}';
    const post = () => postSigned(url, keys, body).catch(() => null);
    const answer = await until(
      'it answers',
      async () => {
        const one = await post();
        return one?.status === 200 && one;
      },
      60_000,
    );
    expect(JSON.parse(answer.text).stored).toBe('kafka');
    const records = await fixture.read('payment-status');
    expect(records.map(({ record }) => record?.source)).toContain(body);
    expect(docker('exec', container, 'id', '-u')).toBe('1000');
    expect(() => docker('exec', container, 'touch', '/app/x')).toThrow(/Read-only file system/);
  });

  it('ends with 0 at SIGTERM, with what is under way finished', async () => {
    docker('stop', '--time', '30', container);
    expect(docker('inspect', '-f', '{{.State.ExitCode}} {{.State.OOMKilled}}', container)).toBe('0 false');
    expect(docker('logs', container)).toContain('"msg":"stopping"');
  });

  it('has neither a package manager nor anything that only tests need', () => {
    const find = (...args: string[]) =>
      docker('run', '--rm', '--entrypoint', 'sh', IMAGE, '-c', args.join(' '));
    expect(find('command -v npm npx yarn corepack || true')).toBe('');
    expect(
      find('ls /app /app/node_modules/.bin 2>/dev/null | grep -E "^(test|deploy|vitest|tsc|biome)$" || true'),
    ).toBe('');
    expect(find('hookline --help')).toContain('dlq');
  });

  it('has what its programs load compiled already', () => {
    // Ends at once, as nothing is configured.
    const loads = (program: string) =>
      docker(
        'run',
        '--rm',
        '-e',
        'NODE_DEBUG_NATIVE=COMPILE_CACHE',
        '--entrypoint',
        'sh',
        IMAGE,
        '-c',
        `node src/${program} 2>&1 || true`,
      );
    for (const program of ['ingress/main.ts', 'control/main.ts', 'cli/main.ts']) {
      const lines = loads(program).split('\n');
      const accepted = lines.filter((line) => line.includes('was accepted'));
      expect(
        accepted.some((line) => line.includes(`file:///app/src/${program} `)),
        program,
      ).toBe(true);
      expect(accepted.length, program).toBeGreaterThan(200);
      expect(
        lines.filter((line) => /rejected|not found/.test(line)),
        program,
      ).toEqual([]);
    }
  });

  it('does not have the sandbox, which is an image of its own', async () => {
    const ls = (image: string) =>
      docker('run', '--rm', '--entrypoint', 'sh', image, '-c', 'ls /app/src').split('\n');
    expect(ls(IMAGE)).not.toContain('sandbox');
    const [port = 0] = await freePorts(1);
    const id = docker(
      'run',
      '-d',
      '--read-only',
      '--network',
      'host',
      '-e',
      `SANDBOX_PORT=${port}`,
      SANDBOX_IMAGE,
    );
    try {
      const answer = await until('the sandbox answers', () =>
        fetch(`http://127.0.0.1:${port}/subscriptions`).catch(() => null),
      );
      expect(answer?.status).toBe(401);
    } finally {
      docker('rm', '-f', id);
    }
  });
});
