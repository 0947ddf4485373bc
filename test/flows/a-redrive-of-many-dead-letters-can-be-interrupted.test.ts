import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { cli, cliUntil } from '../support/cli.ts';
import { ENCRYPTION_KEY, ReceiverFixture } from '../support/receiver-fixture.ts';
import { RunningProcess } from '../support/running-process.ts';
import { sealBody } from '../support/seal.ts';
import { postSigned } from '../support/sign.ts';
import { asAdmin } from '../support/topic-reader.ts';
import { until } from '../support/until.ts';

/** Letters that a missing key made, and a redrive of them that is interrupted, killed and tried by two at once. */
const COUNT = 60;
const LATER_KEY = 'k'.repeat(32);
let receiver: ReceiverFixture;
let env: Record<string, string | undefined>;
const messages: string[] = [];

beforeAll(async () => {
  receiver = await ReceiverFixture.make(inject('stack'));
  env = receiver.fixture.env;
  for (let n = 0; n < COUNT; n++) {
    const message = JSON.stringify({ type: 'collection-status', entityId: `e-${n % 3}`, n });
    const answer = await postSigned(
      `${receiver.ingress.url}/webhooks/ledger-eu`,
      receiver,
      sealBody(LATER_KEY, message),
      { 'content-type': 'application/octet-stream' },
    );
    expect(answer.status).toBe(200);
    messages.push(message);
  }
  receiver.fixture.secrets('ledger-eu', { 'encryption-key': `${ENCRYPTION_KEY}\n${LATER_KEY}` });
});

afterAll(() => receiver[Symbol.asyncDispose]());

type Row = { at: string; outcome: string };

async function countEvents(): Promise<number> {
  const ends = await asAdmin(env, (admin) =>
    admin.fetchTopicOffsets(receiver.fixture.topic('collection-status')),
  );
  return ends.reduce((sum, { high }) => sum + Number(high), 0);
}

const storedBeyond = (count: number) =>
  until(`more than ${count} events are stored`, async () => (await countEvents()) > count, 30_000);

const sources = async () =>
  (await receiver.fixture.read('collection-status', 0)).map(({ record }) => String(record?.source));

describe('a redrive of many dead-letter records', () => {
  it('takes the oldest first, and no more than it is told to', async () => {
    const { exitCode, out } = await cli(env, 'dlq', 'redrive', '--dry-run', '--limit', '3', '--json');
    const rows = JSON.parse(out) as Row[];
    expect([exitCode, rows.map(({ outcome }) => outcome)]).toEqual([0, Array(3).fill('stored')]);
    const { outcomes } = await interrupted(3);
    // What was rehearsed is what went first.
    expect(outcomes.slice(0, 3).map(({ at }) => at)).toEqual(rows.map(({ at }) => at));
  });

  async function interrupted(after: number) {
    const before = await countEvents();
    const controller = new AbortController();
    const running = cliUntil(controller.signal, env, 'dlq', 'redrive', '--rate', '10', '--json');
    await storedBeyond(before + after);
    controller.abort();
    const { exitCode, out, notes } = await running;
    return { before, exitCode, notes, outcomes: JSON.parse(out) as Row[] };
  }

  it('ends at Ctrl-C with what is under way, says how far it came, and the next one goes on there', async () => {
    const { before, exitCode, notes, outcomes } = await interrupted(5);
    const left = outcomes.filter(({ outcome }) => outcome === 'waiting').length;
    const stored = outcomes.filter(({ outcome }) => outcome === 'stored').length;
    expect(exitCode).toBe(1);
    expect([outcomes.length, await countEvents()]).toEqual([COUNT - before, before + stored]);
    expect(stored).toBeGreaterThan(5);
    expect(left).toBeGreaterThan(5);
    expect(notes).toContain(`${stored} of ${COUNT - before}: ${stored} stored, ${left} not tried.`);
  });

  it('killed in the middle is taken up by the next one, and nothing is lost', async () => {
    const before = await countEvents();
    const killed = new RunningProcess('src/cli/main.ts', env, ['dlq', 'redrive', '--rate', '10']);
    await storedBeyond(before + 5);
    killed.kill('SIGKILL');
    await killed.end();
    // It waits until the brokers have given the dead one up.
    const next = await cli(env, 'dlq', 'redrive');
    expect([next.exitCode, next.out]).toEqual([0, expect.stringMatching(/stored +\S+collection-status/)]);
    const stored = await sources();
    expect(new Set(stored)).toEqual(new Set(messages));
    // What was stored and not yet marked when it was killed comes twice; that is one or two at this rate.
    expect(stored.length - COUNT).toBeLessThan(5);
    for (const entity of ['e-0', 'e-1', 'e-2']) {
      const isOfEntity = (source: string) => source.includes(entity);
      expect([...new Set(stored.filter(isOfEntity))]).toEqual(messages.filter(isOfEntity));
    }
  });

  it('is refused to a second operator while the first one is at it', async () => {
    const before = await countEvents();
    const redrive = () => cli(env, 'dlq', 'redrive', '--again', '--rate', '40');
    const runs = await Promise.all([redrive(), redrive()]);
    expect(runs.map(({ exitCode }) => exitCode).sort()).toEqual([0, 1]);
    const refused = runs.find(({ exitCode }) => exitCode === 1);
    expect(refused?.notes).toContain('another redrive or dismissal is running');
    expect(await countEvents()).toBe(before + COUNT);
  });
});
