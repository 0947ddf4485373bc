import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { cli, cliUntil } from '../../support/cli.ts';
import { Fixture } from '../../support/topics-fixture.ts';
import { until } from '../../support/until.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await Fixture.make(inject('stack'), { partitions: 1 });
});
afterAll(() => fixture[Symbol.asyncDispose]());

it('a command to a topic that does not exist says so, with what creates it', async () => {
  const topic = fixture.topic('commands.nobody');
  const { exitCode, notes } = await cli(fixture.env, 'command', 'subscription.list', '--topic', topic);
  expect([exitCode, notes]).toEqual([
    1,
    `hookline: topics do not exist, or this user has no right to them: run hookline topics apply, or grant it (${topic})`,
  ]);
});

const sentAs = async (id: string) => {
  const seen = await fixture.read('commands', 1, { values: 'raw' });
  return seen.filter(({ value }) => value?.includes(`"${id}"`)).length;
};

it.each([
  ['ends without one', '1', /^hookline: no result within 1 s: .*do not send it again: /m],
  ['is interrupted', '60', /^hookline: interrupted; a command that was sent is still executed: /m],
])('a wait for a result that %s says how to see it, and sends nothing again', async (_, seconds, says) => {
  const id = `c'${seconds}`;
  const wait = ['command', 'subscription.list', '--command-id', id, '--wait', '--timeout', seconds];
  const interrupt = new AbortController();
  const ended = cliUntil(interrupt.signal, fixture.env, ...wait);
  await until('it is sent', async () => (await sentAs(id)) > 0);
  if (seconds === '60') interrupt.abort(new Error('interrupted'));
  const { exitCode, notes } = await ended;
  expect([exitCode, notes]).toEqual([1, expect.stringMatching(says)]);
  expect(notes).toContain(
    `"hookline tail command-results --from-beginning --key 'c'\\''${seconds}' --limit 1" shows its result`,
  );
  expect(await sentAs(id)).toBe(1);
});
