import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningSandbox, startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { clientOf } from '../sandbox/support/open-sandbox.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/start-stack.ts';
import { cli } from '../support/cli.ts';
import { ConsoleClient } from '../support/console-client.ts';
import type { Delivered } from '../support/control-fixture.ts';
import { hasIpv4, hasIpv6, NEEDS_IPV6 } from '../support/ip-families.ts';
import type { RunningProcess } from '../support/running-process.ts';
import { postSigned } from '../support/sign.ts';
import { Fixture } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';

/** As a pod has them that sets neither: what listens, listens on all addresses. */
const DEFAULT_HOSTS = { ADMIN_HOST: undefined, INGRESS_HOST: undefined };
const PROBE_KEYS = { subscriptionId: randomUUID(), signingSecret: randomUUID() };

/** Brokers, registry and provider listen on [::1] alone, and the brokers advertise that: whatever goes to 127.0.0.1 fails. */
describe.skipIf(!hasIpv6)(`over IPv6${NEEDS_IPV6}`, () => {
  let stack: Stack;
  let fixture: Fixture;
  let provider: RunningSandbox;
  let ingress: RunningProcess;
  let control: RunningProcess;
  let urls: { ingress: string; ingressAdmin: string; controlAdmin: string };

  beforeAll(async () => {
    stack = await startStack({ env: process.env, way: 'jvm', loopback: '::1', shortLived: true });
    fixture = await Fixture.make(stack);
    fixture.secrets('hookline-probe', {
      'subscription-id': PROBE_KEYS.subscriptionId,
      'signing-secret': PROBE_KEYS.signingSecret,
    });
    provider = await startSandbox({ host: '::1', port: 0, retryScheduleS: [] });
    ingress = fixture.start('src/ingress/main.ts', {
      ...DEFAULT_HOSTS,
      // That of IPv4 admits nobody whose address is taken for one of IPv6.
      ALLOWED_SOURCES: '::1,127.0.0.1',
    });
    const { url, port } = portsOf(await ingress.logged('listening'));
    expect(url).toBe(`http://[::]:${port}`);
    const publicUrl = `http://[::1]:${port}`;
    control = await fixture.control({ provider: provider.url, publicUrl }, DEFAULT_HOSTS);
    urls = { ingress: publicUrl, ingressAdmin: await adminOf(ingress), controlAdmin: await adminOf(control) };
  });

  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
    await provider?.stop();
    await stack?.stop();
  });

  it('brokers, registry and provider are at [::1]', () => {
    for (const address of [...stack.brokers, stack.registryUrl, provider.url])
      expect(address).toContain('[::1]:');
  });

  it('a command is executed, and the webhooks that it brings become events', async () => {
    const args = ['--ref', 'ledger-eu', '--events', 'payment_status', '--wait'];
    const env = {
      ...fixture.env,
      ...fixture.controlEnv({ provider: provider.url, publicUrl: urls.ingress }),
    };
    const created = await cli(env, 'command', 'subscription.create', ...args);
    expect(created, created.notes).toMatchObject({ exitCode: 0 });
    const { json } = await clientOf(provider.url).call('POST', '/_sandbox/trigger', {
      json: { wait: 'final', event: 'payment-status', ref: 'ledger-eu' },
    });
    const [delivered] = json.executions as Delivered[];
    expect(delivered?.status).toBe(200);
    const { eventId } = JSON.parse(delivered?.responseBody ?? '{}');
    const [event] = await fixture.read('payment-status');
    expect(event?.record).toMatchObject({ eventId, entityId: delivered?.entityId });
  });

  it('probes and scrapes are answered', async () => {
    for (const admin of [urls.ingressAdmin, urls.controlAdmin]) {
      await until(`${admin} is ready`, async () => (await fetch(`${admin}/readyz`)).ok);
      expect((await fetch(`${admin}/livez`)).status).toBe(200);
      expect(await (await fetch(`${admin}/metrics`)).text()).toMatch(/^hookline_ready 1$/m);
    }
  });

  it.skipIf(!hasIpv4)('the same processes listen to IPv4, and take such a peer for an IPv4 one', async () => {
    const [admin, webhooks] = [urls.ingressAdmin, urls.ingress].map((url) =>
      url.replace('[::1]', '127.0.0.1'),
    );
    expect((await fetch(`${admin}/livez`)).status).toBe(200);
    const sent = await postSigned(
      `${webhooks}/webhooks/hookline-probe`,
      PROBE_KEYS,
      '{"type":"hookline-probe"}',
    );
    expect(sent.status).toBe(200);
  });

  it('the tools reach everything', async () => {
    const env = { ...fixture.env, VERIFY_URL: urls.ingress };
    const verified = await cli(env, 'verify', '--target', urls.ingressAdmin);
    expect(verified, verified.out).toMatchObject({ exitCode: 0 });
    expect(await cli(fixture.env, 'doctor')).toMatchObject({ exitCode: 0 });
    const keys = await cli(fixture.env, 'keys', 'status', '--ingress', urls.ingressAdmin);
    expect(keys, keys.notes).toMatchObject({ exitCode: 0 });
    expect(await cli(fixture.env, 'dlq', 'list')).toMatchObject({ exitCode: 0 });
    const tail = await cli(fixture.env, 'tail', 'payment-status', '--from-beginning', '--limit', '1');
    expect(tail, tail.notes).toMatchObject({ exitCode: 0 });
  });

  it('the console is opened at [::1], and reads the processes there', async () => {
    const running = fixture.start('src/console/main.ts', {
      CONSOLE_HOST: '[::1]',
      CONSOLE_PORT: '0',
      CONSOLE_TARGETS: `${urls.ingressAdmin},${urls.controlAdmin}`,
    });
    const { port } = portsOf(await running.logged('console listening'));
    const console = new ConsoleClient(`http://[::1]:${port}`, '');
    await until('it has read both', async () => (await console.html('/')).includes('2 of 2'));
    expect((await console.get('/events')).status).toBe(200);
  });
});

const portsOf = (line: Record<string, unknown>) => {
  const url = String(line.url ?? '');
  return { url, port: Number(line.port ?? new URL(url).port) };
};

async function adminOf(running: RunningProcess): Promise<string> {
  return `http://[::1]:${(await running.logged('admin listening')).port}`;
}
