import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { cli } from '../support/cli.ts';
import { ControlFixture } from '../support/control-fixture.ts';
import { until } from '../support/until.ts';

let the: ControlFixture;

beforeAll(async () => {
  the = await ControlFixture.make(inject('stack'), {
    RECONCILE_INTERVAL_MS: '1000',
    PROVIDER_DIALECT_FILE: 'test/support/dialect-with-description.json',
  });
});

afterAll(() => the[Symbol.asyncDispose]());

const THREE = `subscriptions:
  ledger-eu:
    events: [payment_status, accounts-entries]
  ledger-us:
    events: [payment_status]
    extra: { description: the ledger of the US }
  analytics:
    events: [collection-status]
`;

const subscriptions = (verb: string, text: string, ...args: string[]) =>
  cli(the.fixture.env, 'subscriptions', verb, '-f', the.fixture.file('subscriptions.yaml', text), ...args);

const at = async (ref: string) =>
  (await the.subscriptions()).find(({ url }) => url.endsWith(`/${ref}`)) ?? expect.fail(`no ${ref}`);

describe('a new team, with a file of its subscriptions,', () => {
  it('sees what would be done, has it done, and finds nothing more to do', async () => {
    const plan = await subscriptions('plan', THREE);
    expect([plan.exitCode, await the.subscriptions()]).toEqual([1, []]);
    expect(plan.out).toMatch(/^ {2}\+ ledger-eu will be created\n {6}\+ accounts-entries\n/m);
    expect(plan.out).toMatch(/^Plan: 3 to create; 0 already as in .*subscriptions\.yaml\.$/m);
    const apply = await subscriptions('apply', THREE);
    expect([apply.exitCode, apply.out]).toEqual([
      0,
      expect.stringContaining('Applied: 3 succeeded, 0 failed.'),
    ]);
    expect(apply.notes).toMatch(/^ledger-us: SUCCEEDED, created \(\d+\.\d s\)$/m);
    expect((await the.subscriptions()).map(({ events }) => events).toSorted()).toEqual([
      ...[['accounts-entries', 'payment-status'], ['collection-status'], ['payment-status']],
    ]);
    expect(await at('ledger-us')).toMatchObject({ extra: { description: 'the ledger of the US' } });
    const before = (await the.fixture.read('command-results')).length;
    const again = await subscriptions('apply', THREE);
    expect([again.exitCode, again.out]).toEqual([0, expect.stringContaining('Nothing to do: 3 already as')]);
    // The look at the provider alone.
    expect((await the.fixture.read('command-results')).length).toBe(before + 1);
    const [delivered] = await the.trigger({ ref: 'ledger-us', sealed: true });
    expect(delivered?.status).toBe(200);
  });

  it('sees what somebody has changed at the provider, in the plan and among the results, and fixes it', async () => {
    const { id, url, signingSecret, encryptionKey } = await at('analytics');
    const json = { id, url, signingSecret, encryptionKey, events: ['payment_status'] };
    await the.sandbox.call('POST', '/_sandbox/subscriptions', { json });
    const plan = await subscriptions('plan', THREE, '--detailed-exitcode');
    expect(plan.exitCode).toBe(2);
    expect(plan.out).toContain('  ! analytics has drifted: the provider has the subscription with another');
    expect(plan.out).toMatch(/^ {2}~ analytics will be updated$/m);
    const blind = await subscriptions('plan', THREE, '--no-refresh');
    expect([blind.exitCode, blind.out]).toEqual([0, expect.stringContaining('Nothing to do')]);
    await until('it is told', async () =>
      (await the.fixture.read('command-results')).some(
        ({ record }) => record?.status === 'DRIFT' && record.ref === 'analytics',
      ),
    );
    const strict = await subscriptions('apply', THREE, '--fail-on-drift');
    expect([strict.exitCode, strict.notes]).toEqual([
      2,
      expect.stringContaining('nothing was sent, because analytics changed at the provider: undo that'),
    ]);
    expect(strict.out).toContain('  ! analytics has drifted: the provider has the subscription with another');
    expect(await at('analytics')).toMatchObject({ events: ['payment-status'] });
    expect((await subscriptions('apply', THREE)).exitCode).toBe(0);
    expect(await at('analytics')).toMatchObject({ events: ['collection-status'] });
    expect((await subscriptions('apply', THREE, '--fail-on-drift')).exitCode).toBe(0);
    expect((await subscriptions('plan', THREE, '--detailed-exitcode')).exitCode).toBe(0);
  });

  it('has a subscription that the provider has lost created anew', async () => {
    const { id } = await at('analytics');
    await the.sandbox.call('DELETE', `/_sandbox/subscriptions/${id}`);
    const apply = await subscriptions('apply', THREE);
    expect([apply.exitCode, apply.out]).toEqual([
      0,
      expect.stringContaining('analytics will be created again'),
    ]);
    expect((await at('analytics')).id).not.toBe(id);
  });

  it('adopts one that was there before Hookline', async () => {
    const old = { id: randomUUID(), signingSecret: randomUUID(), events: ['payment_status'] };
    const json = { ...old, url: 'http://127.0.0.1:9/old' };
    await the.sandbox.call('POST', '/_sandbox/subscriptions', { json });
    const plan = await subscriptions('plan', THREE);
    expect([plan.exitCode, plan.out]).toEqual([0, expect.stringContaining('http://127.0.0.1:9/old')]);
    const four = `${THREE}  legacy: { adopt: true }\n`;
    const early = await subscriptions('apply', four);
    expect([early.exitCode, early.out]).toEqual([1, expect.stringContaining('KEYS_MISSING')]);
    the.fixture.secrets('legacy', { 'subscription-id': old.id, 'signing-secret': old.signingSecret });
    expect((await subscriptions('apply', four)).out).toContain('Applied: 1 succeeded, 0 failed.');
    expect(await at('legacy')).toMatchObject({ id: old.id, events: ['payment-status'] });
    expect((await subscriptions('plan', four)).out).toContain('Nothing to do: 4 already as');
    const [delivered] = await the.trigger({ ref: 'legacy' });
    expect(delivered?.status).toBe(200);
  });

  it('deletes one by leaving it out, where that is said', async () => {
    const three = `${THREE.replace(/ {2}ledger-us:\n.*\n.*\n/, '')}  legacy: { adopt: true }\n`;
    const plan = await subscriptions('plan', three, '--json');
    expect(JSON.parse(plan.out)).toMatchObject({
      changes: [{ ref: 'ledger-us', action: 'delete', eventsBefore: ['payment-status'] }],
      unchanged: ['ledger-eu', 'analytics', 'legacy'],
    });
    const careful = await subscriptions('apply', three);
    expect([careful.exitCode, careful.notes]).toEqual([
      2,
      expect.stringContaining('it would delete ledger-us'),
    ]);
    await at('ledger-us');
    const apply = await subscriptions('apply', three, '--delete', '--json');
    expect([apply.exitCode, JSON.parse(apply.out)]).toMatchObject([
      0,
      { results: [{ ref: 'ledger-us', type: 'subscription.delete', status: 'SUCCEEDED' }] },
    ]);
    expect((await the.subscriptions()).map(({ url }) => url.split('/').at(-1)).toSorted()).toEqual([
      ...['analytics', 'ledger-eu', 'legacy'],
    ]);
  });

  it('is told where the file is at fault, and what belongs to somebody else', async () => {
    const faulty = await subscriptions('apply', 'subscriptions:\n  a:\n    evnts: [payment_status]\n');
    expect([faulty.exitCode, faulty.notes]).toEqual([
      2,
      expect.stringMatching(/subscriptions\.yaml:3:5: unknown field "evnts": use events, adopt, extra$/m),
    ]);
    const others = `topic: ${the.fixture.topic('commands-b')}\n${THREE}`;
    const foreign = await subscriptions('apply', others, '--no-refresh');
    expect([foreign.exitCode, foreign.notes]).toEqual([
      2,
      expect.stringMatching(/subscriptions\.yaml:3:3: ledger-eu belongs to .*\.commands$/m),
    ]);
  });

  it('hears of a command that failed, or that nobody takes up', async () => {
    const fault = { operation: 'create', kind: 'status', code: 422, times: 1 };
    await the.sandbox.call('PUT', '/_sandbox/faults', { json: [fault] });
    const text = 'subscriptions:\n  refused: { events: [payment_status] }\n';
    const only = async (...args: string[]) => {
      const topic = the.fixture.topic('commands');
      return subscriptions('apply', `topic: ${topic}\n${text}`, '--delete', ...args);
    };
    const failed = await only();
    expect([failed.exitCode, failed.out]).toEqual([1, expect.stringContaining('PROVIDER_REFUSED')]);
    await the.control.stop();
    const late = await subscriptions('plan', text, '--timeout', '1');
    expect([late.exitCode, late.notes]).toEqual([1, expect.stringContaining('--no-refresh')]);
    const unheard = await only('--no-refresh', '--timeout', '1');
    expect([unheard.exitCode, unheard.out]).toEqual([1, expect.stringContaining('no result within 1 s')]);
    for (const said of [late.notes, unheard.out]) {
      expect(said).toContain('plan and apply may be repeated');
      expect(said).not.toContain('do not send it again');
    }
    // What was not taken up in time is not carried out later.
    the.control = await the.fixture.control(the.urls);
    await until('it has expired', async () =>
      (await the.fixture.read('command-results')).some(({ record }) => record?.status === 'EXPIRED'),
    );
    expect((await the.subscriptions()).some(({ url }) => url.endsWith('/refused'))).toBe(false);
  });
});
