import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { cli } from '../support/cli.ts';
import { ControlFixture } from '../support/control-fixture.ts';
import { testKafka } from '../support/topic-reader.ts';
import { until } from '../support/until.ts';

let the: ControlFixture;
let flood: string;
let quiet: string;

beforeAll(async () => {
  the = await ControlFixture.make(inject('stack'));
  flood = the.fixture.topic('commands-flood');
  quiet = the.fixture.topic('commands-quiet');
  const env = { COMMAND_TOPICS: `${flood},${quiet}` };
  await cli({ ...the.fixture.env, ...env }, 'topics', 'apply');
  await the.control.stop();
  await the.fixture.control(the.urls, env);
});

afterAll(() => the[Symbol.asyncDispose]());

/** Of the 32, one is kept for the other topic. */
const PLACES = 31;
const create = (commandId: string, ref: string, more: object = {}) => ({
  commandId,
  type: 'subscription.create',
  ref,
  events: ['payment-status'],
  ...more,
});

async function sendAll(topic: string, commands: ReturnType<typeof create>[]): Promise<void> {
  const producer = testKafka(the.fixture.env).producer();
  await producer.connect();
  for (let at = 0; at < commands.length; at += 20) {
    const messages = commands
      .slice(at, at + 20)
      .map((command) => ({ key: command.ref, value: JSON.stringify(command) }));
    // One by one where they are large: a request of many would be too large for the brokers.
    for (const message of messages) await producer.send({ topic, acks: -1, messages: [message] });
  }
  await producer.disconnect();
}

it('a topic that floods control with commands that hang, are large, or are of another’s ref holds up no other topic', async () => {
  expect(await the.run(create('quiet-1', 'quiet'), quiet)).toMatchObject({ status: 'SUCCEEDED' });
  await the.sandbox.call('PUT', '/_sandbox/faults', {
    json: [{ operation: 'create', kind: 'hang', times: null }],
  });
  const hanging = Array.from({ length: 200 }, (_, n) => create(`hang-${n}`, `hang-${n}`));
  const foreign = Array.from({ length: 200 }, (_, n) => create(`foreign-${n}`, 'quiet'));
  const large = Array.from({ length: 60 }, (_, n) =>
    create(`large-${n}`, `large-${n}`, { issuedBy: 'x'.repeat(900_000) }),
  );
  await sendAll(flood, [...hanging, ...foreign, ...large]);
  await until(
    'the flood has every place that it can have',
    async () => {
      const records = await the.fixture.read('subscriptions', 0);
      return new Set(records.map(({ key }) => key).filter((key) => key?.startsWith('hang-'))).size >= PLACES;
    },
    30_000,
  );
  const update = { type: 'subscription.update', ref: 'quiet', events: ['accounts-entries'] };
  expect(await the.run(update, quiet)).toMatchObject({ status: 'SUCCEEDED' });
  expect(await the.run({ type: 'subscription.list' }, quiet)).toMatchObject({ status: 'SUCCEEDED' });
  // The flood was still running when they had their results.
  const ended = (await the.fixture.read('command-results', 0)).map(({ key }) => key);
  expect(ended.filter((key) => key?.startsWith('hang-'))).toEqual([]);
});
