import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { cli } from '../../support/cli.ts';
import { Fixture } from '../../support/topics-fixture.ts';

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
    `hookline: topics do not exist: run hookline topics apply (${topic})`,
  ]);
});
