import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ControlWorld } from '../support/control-world.ts';
import { setTopicBytes } from '../support/topic-config.ts';
import { until } from '../support/until.ts';

let the: ControlWorld;

beforeAll(async () => {
  the = await ControlWorld.make({ brokers: inject('brokers'), registryUrl: inject('registryUrl') });
});

afterAll(() => the[Symbol.asyncDispose]());

it('a poison command that the dead-letter topic does not take leaves a dead letter without its bytes, and its partition goes on', async () => {
  await setTopicBytes(the.world.env, the.world.topic('dead-letter'), 4_000);
  await the.send('a', `{"commandId":"large","type":"${'x'.repeat(6_000)}"}`);
  const letter = await until('it is a dead letter', async () =>
    (await the.world.read('dead-letter')).find(({ headers }) => headers['hookline.command-id'] === 'large'),
  );
  expect(letter.value).toHaveLength(0);
  expect(letter.headers).toMatchObject({
    '__connect.errors.exception.class.name': 'COMMAND_INVALID',
    '__connect.errors.exception.message': expect.stringMatching(
      /bytes do not fit here: read them at .*-\d+-\d+\)$/,
    ),
  });
  expect(await the.result('large')).toMatchObject({ status: 'REJECTED', errorCode: 'COMMAND_INVALID' });
});
