import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { samplesIn } from '../../src/monitoring/metric-samples.ts';
import type { KafkaCluster } from '../stack/kafka-cluster.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/start-stack.ts';
import { selfSigned } from '../support/certificates.ts';
import { cli } from '../support/cli.ts';
import { serve } from '../support/serve.ts';
import { postSigned } from '../support/sign.ts';
import { asAdmin } from '../support/topic-reader.ts';
import { Fixture } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';

type Finding = { check: string; state: string; finding: string };
type Verified = {
  verdict: string;
  probe: { id: string; eventId: string; status: number; stored: string; recordSeconds: number };
  findings: Finding[];
  processes: { process: string; acknowledged: number; written: number; missing: number }[];
};

/** A Kafka of their own, that these tests may stop. */
let stack: Stack;
let kafka: KafkaCluster;
let fixture: Fixture;
let ingress: Awaited<ReturnType<Fixture['ingress']>>;
let admin: string;
const probeKeys = { subscriptionId: randomUUID(), signingSecret: randomUUID() };
const otherKeys = { subscriptionId: randomUUID(), signingSecret: randomUUID() };
const filesOf = ({ subscriptionId, signingSecret }: typeof probeKeys) => ({
  'subscription-id': subscriptionId,
  'signing-secret': signingSecret,
});

beforeAll(async () => {
  const properties = { 'broker.session.timeout.ms': 2_000, 'broker.heartbeat.interval.ms': 500 };
  const env = { ...process.env, HOOKLINE_STACK: 'jvm' };
  stack = await startStack({ env, withRegistry: false, shortLived: true, kafka: { properties } });
  kafka = stack.kafka ?? expect.fail('no cluster');
  fixture = await Fixture.make({ brokers: stack.brokers, registryUrl: inject('registryUrl') });
  fixture.secrets('hookline-probe', filesOf(probeKeys));
  fixture.secrets('ledger-eu', filesOf(otherKeys));
  ingress = await fixture.ingress({ SPOOL_DIR: join(fixture.dir, 'spool') });
  admin = await ingress.process.adminUrl();
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await stack?.stop();
});

async function verify(env: Record<string, string | undefined>, ...args: string[]) {
  const own = { ...fixture.env, VERIFY_URL: ingress.url, ...env };
  const { exitCode, out, notes } = await cli(own, 'verify', '--json', ...args);
  const result: Verified = out === '' ? expect.fail(notes) : JSON.parse(out);
  const states = Object.fromEntries(result.findings.map(({ check, state }) => [check, state]));
  const texts = Object.fromEntries(result.findings.map(({ check, finding }) => [check, finding]));
  return { exitCode, ...result, states, texts };
}

/** How many records a topic has. */
async function records(name: string): Promise<number> {
  const topic = fixture.topic(name);
  const offsets = await asAdmin(fixture.env, (admin) => admin.fetchTopicOffsets(topic));
  return offsets.reduce((sum, { high }) => sum + Number(high), 0);
}

/** The admin address of an ingress that says that it has acknowledged more. */
const boasting = (more: number) =>
  serve(async (_, response) => {
    const text = await (await fetch(`${admin}/metrics`)).text();
    const isAcknowledged = /^(hookline_deliveries_total\{status="200",stored="kafka"\}) (\d+)$/m;
    expect(text).toMatch(isAcknowledged);
    response.end(text.replace(isAcknowledged, (_all, name, value) => `${name} ${Number(value) + more}`));
  });

describe('hookline verify', () => {
  it('says that it is well, after its probe is in the topic of probes and in no other', async () => {
    for (let n = 0; n < 3; n++) {
      const body = `{"type":"payment-status","entityId":"e-${n}"}`;
      expect((await postSigned(`${ingress.url}/webhooks/ledger-eu`, otherKeys, body)).status).toBe(200);
    }
    const metricsFile = join(fixture.dir, 'verify.prom');
    const args = ['--target', admin, '--metrics-file', metricsFile];
    const { exitCode, verdict, states, probe, processes, texts } = await verify({}, ...args);
    expect({ exitCode, verdict, states, texts }).toMatchObject({
      exitCode: 0,
      verdict: 'well',
      states: { acknowledged: 'ok', record: 'ok', counters: 'ok', topics: 'ok' },
    });
    expect(probe).toMatchObject({ status: 200, stored: 'kafka' });
    expect(processes).toMatchObject([{ acknowledged: 4, missing: 0 }]);
    expect(texts.topics).toMatch(/^4 records in 6 topics, at least 4 are needed$/);
    const [record] = await fixture.read('probe');
    expect(record).toMatchObject({
      key: probe.id,
      headers: { ce_id: probe.eventId, ce_type: 'hookline-probe' },
    });
    expect(await records('unclassified')).toBe(0);
    expect(await records('dead-letter')).toBe(0);
    const file = readFileSync(metricsFile, 'utf8');
    expect(file).toMatch(/^hookline_verify_success 1$/m);
    expect(file).toMatch(/^hookline_verify_record_seconds 0\.\d+$/m);
    expect(file).toMatch(/^hookline_verify_missing 0$/m);
    expect(file).not.toMatch(/nodejs_|process_/);
  });

  it('compares nothing where it is not told where, and shows a table', async () => {
    const { exitCode, out, notes } = await cli({ ...fixture.env, VERIFY_URL: ingress.url }, 'verify');
    expect({ exitCode, notes }).toEqual({ exitCode: 0, notes: 'Verdict: well.' });
    expect(out).toMatch(/^acknowledged +ok +200 from kafka after/m);
    expect(out).toMatch(/^counters +skipped/m);
  });

  it('goes through TLS, by the certificate authority that it is given', async () => {
    using certificate = selfSigned();
    const { certFile, keyFile } = certificate;
    const secured = await fixture.ingress({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile });
    const untrusted = await verify({ VERIFY_URL: secured.url });
    expect(untrusted).toMatchObject({ exitCode: 1, states: { acknowledged: 'FAULT', record: 'skipped' } });
    const trusted = await verify({ VERIFY_URL: secured.url, VERIFY_CA_FILE: certFile });
    expect(trusted).toMatchObject({ exitCode: 0, states: { acknowledged: 'ok', record: 'ok' } });
    expect(await secured.process.stop()).toBe(0);
  });

  it('says that the secret is wrong', async () => {
    const secrets = join(fixture.dir, 'other-secrets');
    mkdirSync(join(secrets, 'hookline-probe'), { recursive: true });
    for (const [name, text] of Object.entries(filesOf(otherKeys)))
      writeFileSync(join(secrets, 'hookline-probe', name), text);
    const { exitCode, texts, findings } = await verify({ SECRETS_DIR: secrets });
    expect(exitCode).toBe(1);
    expect(texts.acknowledged).toMatch(/^ingress answered 401/);
    expect(JSON.stringify(findings)).not.toContain(otherKeys.signingSecret);
  });

  it('says that no ingress answers', async () => {
    const url = await (async () => {
      await using gone = await serve(() => {});
      return gone.url;
    })();
    const metricsFile = join(fixture.dir, 'down.prom');
    const { exitCode, texts } = await verify({ VERIFY_URL: url }, '--metrics-file', metricsFile);
    expect(exitCode).toBe(1);
    expect(texts.acknowledged).toMatch(/^no answer from .*ECONNREFUSED/);
    const file = readFileSync(metricsFile, 'utf8');
    expect(file).toMatch(/^hookline_verify_success 0$/m);
    expect(file).not.toMatch(/^hookline_verify_(acknowledge|record)_seconds /m);
  });

  it('says that counters do not agree, and by how many', async () => {
    await using liar = await boasting(5);
    const { exitCode, states, texts, processes } = await verify({ VERIFY_TARGETS: liar.url });
    expect({ exitCode, states }).toMatchObject({ exitCode: 1, states: { record: 'ok', counters: 'FAULT' } });
    expect(texts.counters).toMatch(
      /; 5 acknowledged and neither written nor in a spool \(127\.0\.0\.1:\d+\)$/,
    );
    expect(processes).toMatchObject([{ missing: 5 }]);
  });

  it('says that topics have fewer records than were acknowledged', async () => {
    // It also says that it has written more: only the brokers know better.
    const more = 1_000;
    await using liar = await boasting(more);
    await using consistent = await serve(async (_, response) => {
      const text = await (await fetch(`${liar.url}/metrics`)).text();
      const isWritten = /^(hookline_publish_seconds_count) (\d+)$/m;
      response.end(text.replace(isWritten, (_all, name, value) => `${name} ${Number(value) + more}`));
    });
    const { exitCode, states } = await verify({ VERIFY_TARGETS: consistent.url });
    expect({ exitCode, states }).toMatchObject({ exitCode: 1, states: { counters: 'ok', topics: 'FAULT' } });
  });

  it('could not tell where an ingress is not reached, or has not run for so long', async () => {
    await using broken = await serve((_, response) => response.writeHead(500).end());
    const unreached = await verify({}, '--target', admin, '--target', broken.url);
    expect(unreached).toMatchObject({ exitCode: 3, verdict: 'could not tell' });
    const young = await verify({}, '--target', admin, '--since', '1h');
    expect(young.exitCode).toBe(3);
    expect(young.findings.map(({ finding }) => finding).join()).toMatch(
      /started at .* counted before is not known/,
    );
  });

  it.each([
    [
      'has no key of probes',
      { SECRETS_DIR: '/tmp' },
      [],
      'hookline-probe has no subscription-id and signing-secret',
    ],
    [
      'is to compare a period, and not told where',
      {},
      ['--since', '1h'],
      'set PROMETHEUS_URL or VERIFY_TARGETS',
    ],
    ['is given a target that is no address', {}, ['--target', 'ingress'], 'VERIFY_TARGETS is "ingress"'],
  ])('is used wrongly where it %s', async (_, env, args: string[], why) => {
    const { exitCode, notes } = await cli(
      { ...fixture.env, VERIFY_URL: ingress.url, ...env },
      'verify',
      ...args,
    );
    expect({ exitCode, notes }).toEqual({ exitCode: 2, notes: expect.stringContaining(why) });
  });
});

describe('through the ref of probes, and with their type', () => {
  it('nothing enters a topic of others', async () => {
    const before = { probe: await records('probe'), status: await records('payment-status') };
    const post = (ref: string, keys: typeof probeKeys, type: string) =>
      postSigned(`${ingress.url}/webhooks/${ref}`, keys, `{"type":"${type}","entityId":"x"}`);
    // An ordinary subscription, with the type of probes: of an unknown type.
    expect((await post('ledger-eu', otherKeys, 'hookline-probe')).status).toBe(200);
    // Keys of another ref.
    expect((await post('hookline-probe', otherKeys, 'hookline-probe')).status).toBe(401);
    // Who has the keys of probes writes no event.
    expect((await post('hookline-probe', probeKeys, 'payment-status')).status).toBe(200);
    expect(await records('unclassified')).toBe(1);
    const [letter] = await fixture.read('dead-letter');
    expect(letter?.headers).toMatchObject({ '__connect.errors.exception.class.name': 'NOT_A_PROBE' });
    expect(await records('probe')).toBe(before.probe);
    expect(await records('payment-status')).toBe(before.status);
    // Nor does a redrive.
    await cli(fixture.env, 'dlq', 'redrive');
    expect(await records('payment-status')).toBe(before.status);
  });
});

describe('while Kafka is stopped', () => {
  it('hookline verify says that its probe is acknowledged and in no topic; afterwards that it is well', async () => {
    await kafka.nodes[0]?.kill('SIGKILL');
    const { exitCode, probe, states, texts } = await verify({}, '--timeout', '4', '--target', admin);
    expect({ exitCode, states }).toMatchObject({
      exitCode: 1,
      states: { acknowledged: 'ok', record: 'FAULT', counters: 'ok' },
    });
    expect(probe.stored).toBe('spool');
    expect(texts.record).toMatch(/^acknowledged into the spool, and not in its topic 4 s later/);
    await kafka.nodes[0]?.start();
    await kafka.waitReady();
    await until(
      'the spool is drained',
      async () => /^hookline_spool_in_use 0$/m.test(await ingress.process.metrics()),
      40_000,
    );
    expect(await verify({}, '--target', admin)).toMatchObject({ exitCode: 0, verdict: 'well' });
  }, 120_000);

  it('hookline verify does not say that it is well after a spool was lost with its process', async () => {
    await using prometheus = await recorder();
    const scrape = async () => prometheus.add(await ingress.process.metrics());
    await scrape();
    await kafka.nodes[0]?.kill('SIGKILL');
    for (let n = 0; n < 50; n++) {
      const body = `{"type":"payment-status","entityId":"lost-${n}"}`;
      expect((await postSigned(`${ingress.url}/webhooks/ledger-eu`, otherKeys, body)).status).toBe(200);
    }
    await scrape();
    await ingress.process.kill('SIGKILL');
    rmSync(join(fixture.dir, 'spool'), { recursive: true });
    await kafka.nodes[0]?.start();
    await kafka.waitReady();
    ingress = await fixture.ingress({ SPOOL_DIR: join(fixture.dir, 'spool') });
    await scrape();
    const { exitCode, verdict, states, texts } = await verify({ PROMETHEUS_URL: prometheus.url });
    expect({ exitCode, verdict, states, texts }).toMatchObject({
      exitCode: 1,
      verdict: 'not well',
      states: { record: 'ok', counters: 'ok', spools: 'unknown', topics: 'FAULT' },
    });
    expect(texts.spools).toMatch(
      /^pod-0: 50 deliveries were in its spool .* the other 50 were drained in between, or are lost$/,
    );
  }, 120_000);
});

/** A Prometheus that has the scrapes of one pod. */
async function recorder() {
  const scrapes: { at: number; samples: ReturnType<typeof samplesIn> }[] = [];
  const server = await serve(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const wanted = /^\w+/.exec(new URLSearchParams(body).get('query') ?? '')?.[0];
    const all = scrapes.flatMap(({ at, samples }) => samples.map((sample) => ({ at, ...sample })));
    const own = all.filter(({ name, labels }) => name === wanted && (labels.status ?? '200') === '200');
    const result = [...Map.groupBy(own, ({ labels }) => JSON.stringify(labels)).values()].map((series) => ({
      metric: { pod: 'pod-0', instance: 'pod-0:9464', ...series[0]?.labels },
      values: series.map(({ at, value }) => [at, String(value)]),
    }));
    response.end(JSON.stringify({ status: 'success', data: { resultType: 'matrix', result } }));
  });
  return {
    url: server.url,
    add: (text: string) => scrapes.push({ at: Date.now() / 1_000, samples: samplesIn(text) }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
