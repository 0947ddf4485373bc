import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { cliJson } from '../support/cli.ts';
import { ConsoleClient } from '../support/console-client.ts';
import { ENCRYPTION_KEY, ReceiverFixture, receiptOf } from '../support/receiver-fixture.ts';
import { postSigned } from '../support/sign.ts';
import { until } from '../support/until.ts';

type Job = { id: string; status: string; progress: string; summary: { outcome: string; records: number }[] };
type Letters = { groups: { stage: string; ref: string; states: Record<string, number> }[]; jobs: Job[] };
type Story = {
  lines: { step: string; what: string; at: { topic: string } | null }[];
  coverage: { topic: string }[];
};
type Events = { records: { key: string; source: string; fields: Record<string, unknown>; offset: number }[] };

const SCRIPT = '<script>alert(1)</script><img src=x onerror=alert(1)>"\'';

let receiver: ReceiverFixture;
let url: string;
let viewer: ConsoleClient;
let operator: ConsoleClient;
let lead: ConsoleClient;
/** Of a webhook that no key opened. */
let deadLettered: { eventId: string; at: string; entityId: string };

beforeAll(async () => {
  for (let stage = ''; stage !== 'DECRYPT'; ) {
    await receiver?.[Symbol.asyncDispose]();
    receiver = await ReceiverFixture.make(inject('stack'));
    ({ stage, ...deadLettered } = await deadLetterOne());
  }
  url = `${receiver.ingress.url}/webhooks/ledger-eu`;
  const running = receiver.fixture.start('src/console/main.ts', ConsoleClient.env);
  const { port } = await running.logged('console listening');
  const at = `http://127.0.0.1:${port}`;
  [viewer, operator, lead] = ['viewers', 'operators', 'leads'].map(
    (group) => new ConsoleClient(at, group),
  ) as [ConsoleClient, ConsoleClient, ConsoleClient];
});

afterAll(() => receiver[Symbol.asyncDispose]());

/**
 * Has a sealed webhook delivered that no key opens, and puts the key back. One in 256 sealed bodies begins with a brace, and is
 * taken for malformed JSON: its stage is PARSE.
 */
async function deadLetterOne(): Promise<typeof deadLettered & { stage: string }> {
  receiver.fixture.secrets('ledger-eu', { 'encryption-key': 'n'.repeat(32) });
  const one = await until('a webhook is dead-lettered', async () => {
    const execution = await receiver.trigger1({ event: 'payment-status', sealed: true });
    const { eventId } = receiptOf(execution);
    const records = await receiver.fixture.read('dead-letter', 0);
    const record = records.find(({ key }) => key === eventId);
    const stage = record?.headers['__connect.errors.stage'] ?? '';
    return (
      record && { eventId, at: `${record.partition}:${record.offset}`, entityId: execution.entityId, stage }
    );
  });
  receiver.fixture.secrets('ledger-eu', { 'encryption-key': ENCRYPTION_KEY });
  return one;
}

const story = (q: string) => viewer.json<Story>(`/find?${new URLSearchParams({ q })}`);
const ended = (id: unknown) =>
  until('the job has ended', async () => {
    const job = await viewer.json<Job>(`/dead-letters/jobs/${id}`);
    return job.status !== 'running' && job;
  });

describe('what viewers see', () => {
  it('is the story of an event, as hookline inspect tells it', async () => {
    const { lines } = await until('the story is told', async () => {
      const told = await story(deadLettered.eventId);
      return told.lines.length > 0 && told;
    });
    expect(lines.map(({ step }) => step)).toEqual(['received', 'dead-lettered']);
    const inspected = await cliJson<{ what: string }[]>(
      receiver.fixture.env,
      'inspect',
      deadLettered.eventId,
    );
    expect(lines.slice(1).map(({ what }) => what)).toEqual(inspected.map(({ what }) => what));
    const page = await viewer.html(`/find?q=${deadLettered.eventId}`);
    expect(page).toContain('dead-lettered');
    expect(page).toContain(`hookline inspect ${deadLettered.eventId}`);
    expect(page).toContain('What is indexed');
  });

  it('is the cause and remedy of a dead-letter record', async () => {
    const { groups } = await until('it is known', async () => {
      const letters = await viewer.json<Letters>('/dead-letters');
      return letters.groups.length > 0 && letters;
    });
    expect(groups[0]).toMatchObject({ stage: 'DECRYPT', ref: 'ledger-eu' });
    expect(groups[0]?.states.open).toBeGreaterThan(0);
    const page = await viewer.html(`/dead-letters/${deadLettered.at}`);
    expect(page).toContain('SECRETS_DIR/ledger-eu/encryption-key');
    expect(page).not.toContain('action="/dead-letters/redrive"');
    expect((await viewer.get('/dead-letters/9:9')).status).toBe(404);
    expect((await viewer.get('/dead-letters?stage=NONE')).status).toBe(400);
  });

  it('is no message, and nothing that they may not do', async () => {
    const path = '/events/payment-status';
    await until('an event is there', async () => {
      await receiver.trigger1({ event: 'payment-status' });
      return (await viewer.json<Events>(path)).records.length > 0;
    });
    const { records } = await viewer.json<Events>(path);
    for (const { source } of records) expect(source).toMatch(/^hidden \(PII/);
    expect(await viewer.html(path)).not.toContain('{&quot;type&quot;:');
    for (const one of [viewer, operator]) expect((await one.get(`${path}?reveal=yes`)).status).toBe(403);
    for (const one of [viewer, lead]) {
      const { status } = await one.post('/dead-letters/redrive', { at: deadLettered.at });
      expect(status).toBe(403);
      expect((await one.post('/dead-letters/dismiss', { at: deadLettered.at, reason: 'x' })).status).toBe(
        403,
      );
    }
    const forged = await fetch(`${viewer.url}/dead-letters/redrive`, {
      method: 'POST',
      headers: {
        'x-forwarded-user': 'a',
        'x-forwarded-groups': 'operators',
        'content-type': 'application/json',
      },
      body: '{"at":"0:0"}',
    });
    expect(forged.status).toBe(403);
  });

  it('goes on while the page is open', async () => {
    const following = viewer.updates('/events/payment-status?ref=ledger-eu', 1);
    const sending = setInterval(() => void receiver.trigger1({ event: 'payment-status' }), 500);
    const [update] = await following.finally(() => clearInterval(sending));
    expect(update).toMatchObject({ id: 'records', html: expect.stringContaining('class="record"') });
  });
});

describe('what is revealed', () => {
  it('is shown to who may, with an entry of the audit trail', async () => {
    const { records } = await lead.json<Events>('/events/payment-status?reveal=yes');
    expect(records[0]?.source).toContain('{');
    const entries = await receiver.fixture.read('audit', 2);
    expect(entries.map(({ key, value }) => [key, JSON.parse(String(value))])).toContainEqual([
      'one-of-leads',
      expect.objectContaining({
        action: 'reveal records',
        details: {
          topic: receiver.fixture.topic('payment-status'),
          by: [],
          records: expect.arrayContaining([expect.stringMatching(/^\d+:\d+$/)]),
        },
      }),
    ]);
  });

  it('does not stand in the audit trail, nor what was searched for', async () => {
    const { entityId } = await receiver.trigger1({ event: 'payment-status' });
    const event = await until('its story is told', async () => {
      const { lines } = await story(entityId);
      return lines.find(({ step }) => step === 'stored');
    });
    const q = new URLSearchParams({ q: entityId, reveal: 'yes' });
    expect((await lead.get(`/find?${q}`, 'application/json')).status).toBe(200);
    const by = new URLSearchParams({ key: entityId, reveal: 'yes' });
    expect((await lead.json<Events>(`/events/payment-status?${by}`)).records.length).toBe(1);
    const entries = await receiver.fixture.read('audit', 4);
    const told = entries.map(({ value }) => String(value));
    expect(told.join()).not.toContain(entityId);
    expect(receiver.fixture.logs()).not.toContain(entityId);
    const at = event.at as unknown as { topic: string; partition: number; offset: number };
    expect(told.map((text) => JSON.parse(text).details)).toEqual(
      expect.arrayContaining([
        {
          wanted: `hidden (${Buffer.byteLength(entityId)} bytes)`,
          records: expect.arrayContaining([`${at.topic} ${at.partition}:${at.offset}`]),
        },
        { topic: at.topic, by: ['key'], records: [`${at.partition}:${at.offset}`] },
      ]),
    );
  });

  it('is harmless and bounded where an event is hostile', async () => {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const message = JSON.stringify({ type: SCRIPT, entityId: SCRIPT, payload: SCRIPT, deep: 0 }).replace(
      '"deep":0',
      `"deep":${deep}`,
    );
    const { text } = await postSigned(url, receiver, message);
    const { eventId } = JSON.parse(text) as { eventId: string };
    const pages = [`/find?q=${encodeURIComponent(SCRIPT)}&reveal=yes`, '/events/unclassified?reveal=yes'];
    await until('it is found', async () => (await story(eventId)).lines.length > 0);
    for (const path of [...pages, `/find?q=${eventId}`]) {
      const page = await lead.html(path);
      expect(page).not.toContain('<script>alert');
      expect(page).not.toContain('<img src=x');
      expect(page.length).toBeLessThan(200_000);
    }
    const page = await lead.html('/events/unclassified?reveal=yes');
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(page).toContain('more characters');
  });

  it('is the beginning of what is large', async () => {
    const { fixture } = receiver;
    const message = `{"type":"payment-status","entityId":"large-1","payload":"${SCRIPT.replaceAll('"', '')}${'x'.repeat(20_000_000)}"}`;
    const { text } = await postSigned(url, receiver, message);
    const { eventId } = JSON.parse(text) as { eventId: string };
    const path = `/events/payment-status?reveal=yes&id=${eventId}`;
    await until('it is there', async () => (await lead.json<Events>(path)).records.length > 0);
    const page = await lead.html(path);
    expect(page).toMatch(/The value has 19 MiB/);
    expect(page).toContain('large-1');
    expect(page.length).toBeLessThan(50_000);
    expect(fixture.logs()).not.toContain('xxxxxxxxxx');
  });
});

describe('what operators do', () => {
  it('is a dry run, then a redrive: a job that is there after a reload', async () => {
    const dry = await operator.post('/dead-letters/redrive', { at: deadLettered.at, dryRun: true });
    expect(dry.status).toBe(200);
    expect(await ended(dry.body.id)).toMatchObject({
      status: 'done',
      summary: [{ outcome: 'would be stored' }],
    });
    const redrive = await operator.post('/dead-letters/redrive', { at: deadLettered.at });
    expect(await ended(redrive.body.id)).toMatchObject({
      status: 'done',
      progress: '1 of 1: 1 stored.',
      summary: [{ outcome: 'stored', records: 1 }],
    });
    const { lines } = await until('the story goes on', async () => {
      const told = await story(deadLettered.entityId);
      return told.lines.some(({ step }) => step === 'redriven') && told;
    });
    expect(lines.map(({ step }) => step)).toContain('redriven');
    expect(await viewer.html(`/dead-letters/jobs/${redrive.body.id}`)).toContain('1 of 1: 1 stored.');
    const { jobs } = await viewer.json<Letters>('/dead-letters');
    expect(jobs.map(({ id }) => id)).toEqual([redrive.body.id, dry.body.id]);
    await until('it counts as redriven', async () =>
      (await viewer.html(`/dead-letters/${deadLettered.at}`)).includes('>redriven<'),
    );
    // One entry, which ends when the job does: a dry run changes nothing, and has none.
    const entries = await until('its end is in the audit trail', async () => {
      const all = (await receiver.fixture.read('audit', 1)).map(({ value }) => JSON.parse(String(value)));
      const of = all.filter(({ action }) => action.startsWith('redrive'));
      return of.length > 1 && of;
    });
    expect(entries).toMatchObject([
      { state: 'begun', details: { filter: [`at=${deadLettered.at}`] } },
      { state: 'done', id: entries[0].id, message: `job ${redrive.body.id}: 1 of 1: 1 stored.` },
    ]);
  });

  it('is one job at a time, and only of what is selected', async () => {
    const at = (await deadLetterOne()).at;
    const nothing = await operator.post('/dead-letters/redrive', {});
    expect([nothing.status, JSON.stringify(nothing.body)]).toEqual([
      400,
      expect.stringContaining('Nothing is selected'),
    ]);
    const [first, second] = await Promise.all([
      operator.post('/dead-letters/redrive', { stage: 'DECRYPT', dryRun: true }),
      operator.post('/dead-letters/redrive', { at, dryRun: true }),
    ]);
    expect([first.status, second.status].sort()).toEqual([200, 409]);
    await ended((first.status === 200 ? first : second).body.id);
  });

  it('is to dismiss, with a reason', async () => {
    const { at, eventId } = await deadLetterOne();
    await until('it is known', async () => (await viewer.get(`/dead-letters/${at}`)).status === 200);
    const open = operator.updates(`/dead-letters?at=${at}`, 4);
    const silent = await operator.post('/dead-letters/dismiss', { at });
    expect(silent.status).toBe(400);
    const { status, body } = await operator.post('/dead-letters/dismiss', { at, reason: 'test data' });
    expect(status).toBe(200);
    expect(await ended(body.id)).toMatchObject({ status: 'done', summary: [{ outcome: 'dismissed' }] });
    const { lines } = await until('the story ends', async () => {
      const told = await story(eventId);
      return told.lines.some(({ step }) => step === 'dismissed') && told;
    });
    expect(lines.at(-1)?.what).toContain('by one-of-operators, test data');
    // The open page hears of it: its list, and how many are open.
    await until('the open page says so', async () => {
      const shown = await operator.updates(`/dead-letters?at=${at}`, 2);
      return shown[1]?.html?.includes('selected: 0.');
    });
    expect((await open).map(({ id }) => id)).toEqual(['deadLetters', 'selected', 'deadLetters', 'selected']);
  });
});
