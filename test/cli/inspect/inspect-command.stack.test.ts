import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { cli, cliUntil } from '../../support/cli.ts';
import { setTopicConfig } from '../../support/topic-config.ts';
import { testKafka } from '../../support/topic-reader.ts';
import { Fixture } from '../../support/topics-fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await Fixture.make(inject('stack'), { partitions: 1 });
});
afterAll(() => fixture[Symbol.asyncDispose]());

/** Who may write commands gives them any time, where a topic has the times of those who write. */
const NO_TIME = '-9000000000000000';

it('shows a record whose time is none, and what comes behind it', async () => {
  await setTopicConfig(fixture.env, fixture.topic('commands'), { 'message.timestamp.type': 'CreateTime' });
  const producer = testKafka(fixture.env).producer({ allowAutoTopicCreation: false });
  await producer.connect();
  const messages = [{ timestamp: NO_TIME }, {}].map((more) => ({
    key: 'eu',
    value: JSON.stringify({ commandId: randomUUID(), type: 'subscription.delete', ref: 'eu' }),
    ...more,
  }));
  await producer.send({ topic: fixture.topic('commands'), messages });
  await producer.disconnect();
  const { exitCode, out } = await cli(fixture.env, 'inspect', 'eu', '--json');
  expect([exitCode, JSON.parse(out).map(({ time }: { time: string }) => time)]).toEqual([
    0,
    expect.arrayContaining([`no time (${NO_TIME})`, expect.stringMatching(/^\d{4}-/)]),
  ]);
  const tail = ['tail', 'commands', '--from-beginning', '--limit', '2', '--json'];
  expect((await cliUntil(AbortSignal.timeout(30_000), fixture.env, ...tail)).out).toContain(NO_TIME);
});

it('says that records could not be read where the registry does not answer', async () => {
  const control = await fixture.control({
    provider: 'http://127.0.0.1:9',
    publicUrl: 'http://127.0.0.1:8080',
  });
  const id = randomUUID();
  await cli(fixture.env, 'command', 'subscription.delete', '--ref', 'nobody', '--command-id', id, '--wait');
  await control.stop();
  expect(await cli(fixture.env, 'inspect', id)).toMatchObject({
    exitCode: 0,
    out: expect.stringContaining('SUCCEEDED'),
  });
  expect(
    await cli({ ...fixture.env, SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' }, 'inspect', id),
  ).toMatchObject({
    exitCode: 1,
    out: expect.not.stringContaining('SUCCEEDED'),
    notes: expect.stringContaining('could not be read: the schema registry does not answer'),
  });
});

it('says that there are no topics of the prefix, instead of that nothing is known, also where COMMAND_TOPICS names others', async () => {
  const env = { ...fixture.env, TOPIC_PREFIX: 'misspelt' };
  for (const more of [{}, { COMMAND_TOPICS: fixture.topic('commands') }]) {
    const { exitCode, notes } = await cli({ ...env, ...more }, 'inspect', 'eu');
    expect([exitCode, notes]).toEqual([
      1,
      'hookline: topics do not exist, or this user has no right to them: run hookline topics apply, or grant it (none begins with misspelt., as TOPIC_PREFIX says)',
    ]);
  }
});
