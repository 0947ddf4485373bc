import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { cli, cliJson } from '../support/cli.ts';
import { ControlFixture, type Result } from '../support/control-fixture.ts';
import { until } from '../support/until.ts';

let the: ControlFixture;
let created: Result;

beforeAll(async () => {
  the = await ControlFixture.make(inject('stack'));
  created = await the.run({
    commandId: 'c-eu',
    type: 'subscription.create',
    ref: 'eu',
    events: ['payment-status'],
    issuedBy: 'ledger',
  });
});

afterAll(() => the[Symbol.asyncDispose]());

type Found = { topic: string; partition: number; offset: number; what: string };
const inspect = (what: string) => cliJson<Found[]>(the.fixture.env, 'inspect', what);
const topicsOf = (rows: Found[]) => rows.map(({ topic }) => topic.slice(the.fixture.prefix.length + 1));

describe('hookline inspect', () => {
  it('shows of a command where it stands, what it wrote, and its result', async () => {
    const rows = await inspect('c-eu');
    expect(topicsOf(rows)).toEqual(['commands', 'subscriptions', 'subscriptions', 'command-results']);
    expect(rows[0]?.what).toContain('subscription.create, by ledger');
    expect(rows[3]?.what).toContain('SUCCEEDED, created');
    expect(rows[3]?.what).toContain(`of ${rows[0]?.topic}[${rows[0]?.partition}]@${rows[0]?.offset}`);
  });

  it('shows of a ref its commands, its state and its events', async () => {
    const [delivered] = await the.trigger({ ref: 'eu' });
    const { eventId } = JSON.parse(delivered?.responseBody ?? '{}');
    const entity = String(delivered?.entityId);
    const rows = await until('the event is there', async () => {
      const found = await inspect('eu');
      return topicsOf(found).includes('payment-status') && found;
    });
    expect(topicsOf(rows)).toEqual([
      'commands',
      'subscriptions',
      'subscriptions',
      'command-results',
      'payment-status',
    ]);
    expect(rows[1]?.what).toContain('REQUESTED');
    expect(rows[2]?.what).toContain(`ACTIVE, ${created.subscriptionId}`);
    for (const wanted of [eventId, entity]) {
      const [event, ...further] = await inspect(wanted);
      expect(further).toEqual([]);
      expect(event?.what).toContain(`entity ${entity}, /webhooks/eu`);
      expect(event?.what).toContain(eventId);
    }
  });

  it('shows of what went to the dead-letter topic why', async () => {
    await the.send('broken', { commandId: 'c-broken', type: 'subscription.pause', ref: 'eu' });
    await the.result('c-broken');
    const rows = await inspect('c-broken');
    expect(topicsOf(rows)).toEqual(['commands', 'dead-letter', 'command-results']);
    expect(rows[1]?.what).toContain('COMMAND, COMMAND_INVALID');
  });

  it('says by its exit code that there is nothing', async () => {
    const { exitCode, out } = await cli(the.fixture.env, 'inspect', 'nobody-s', '--json');
    expect([exitCode, out]).toEqual([1, '[]']);
  });
});

describe('hookline keys status', () => {
  it('shows which keys are live, and when each last matched', async () => {
    const secret = 's'.repeat(36);
    the.fixture.secrets('rotated', {
      'subscription-id': String(created.subscriptionId),
      'signing-secret': `${secret}\n${'t'.repeat(36)}`,
      'encryption-key': 'k'.repeat(32),
    });
    const ingress = await the.ingress.process.adminUrl();
    type Row = { ref: string; use: string; key: string; lastMatched: string | null; matches: number };
    const status = () => cliJson<Row[]>({}, 'keys', 'status', '--ingress', ingress);
    const rows = await until('the files are read', async () => {
      const seen = await status();
      return seen.some(({ ref }) => ref === 'rotated') && seen;
    });
    expect(rows.map(({ ref, use, key }) => `${ref} ${use} ${key}`)).toEqual([
      ...['eu encryption 0', 'eu signing 0'],
      ...['rotated encryption 0', 'rotated signing 0', 'rotated signing 1'],
    ]);
    const eu = rows.find(({ ref, use }) => ref === 'eu' && use === 'signing');
    expect(eu?.matches).toBeGreaterThan(0);
    expect(Date.parse(eu?.lastMatched ?? '')).toBeGreaterThan(Date.now() - 600_000);
    expect(rows.at(-1)).toMatchObject({ lastMatched: null, matches: 0 });
  });

  it('names the ingress that does not answer', async () => {
    const { exitCode, notes } = await cli({}, 'keys', 'status', '--ingress', 'http://127.0.0.1:9');
    expect([exitCode, notes]).toEqual([
      1,
      expect.stringContaining('http://127.0.0.1:9/metrics does not answer'),
    ]);
  });
});
