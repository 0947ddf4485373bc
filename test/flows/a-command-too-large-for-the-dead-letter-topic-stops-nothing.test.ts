import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ControlFixture } from '../support/control-fixture.ts';
import { setTopicBytes } from '../support/topic-config.ts';
import { until } from '../support/until.ts';

let the: ControlFixture;

beforeAll(async () => {
  the = await ControlFixture.make(inject('stack'));
});

afterAll(() => the[Symbol.asyncDispose]());

it('a poison command that the dead-letter topic does not take leaves a dead-letter record without its bytes, and its partition goes on', async () => {
  await setTopicBytes(the.fixture.env, the.fixture.topic('dead-letter'), 4_000);
  await the.send('a', `{"commandId":"large","type":"${'x'.repeat(6_000)}"}`);
  const deadLetter = await until('it is a dead-letter record', async () =>
    (await the.fixture.read('dead-letter')).find(({ headers }) => headers['hookline.command-id'] === 'large'),
  );
  expect(deadLetter.value).toHaveLength(0);
  expect(deadLetter.headers).toMatchObject({
    '__connect.errors.exception.class.name': 'COMMAND_INVALID',
    '__connect.errors.exception.message': expect.stringMatching(
      /bytes do not fit here: read them at .*-\d+-\d+\)$/,
    ),
  });
  expect(await the.result('large')).toMatchObject({ status: 'REJECTED', errorCode: 'COMMAND_INVALID' });
});
