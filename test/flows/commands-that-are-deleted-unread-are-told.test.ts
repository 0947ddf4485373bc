import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type RunningSandbox, startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { cli } from '../support/cli.ts';
import { asAdmin } from '../support/topic-reader.ts';
import { Fixture } from '../support/topics-fixture.ts';

let sandbox: RunningSandbox;
let fixture: Fixture;

beforeAll(async () => {
  sandbox = await startSandbox({ port: 0 });
  fixture = await Fixture.make(inject('stack'));
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await sandbox?.stop();
});

const send = (...options: string[]) =>
  cli(fixture.env, 'command', 'subscription.delete', '--ref', 'eu', '--command-id', randomUUID(), ...options);

it('by control at its next start, with their offsets, and later commands are executed', async () => {
  const urls = { provider: sandbox.url, publicUrl: 'http://127.0.0.1:9' };
  const first = await fixture.control(urls);
  expect(await send('--wait')).toMatchObject({ exitCode: 0 });
  await first.stop();
  const topic = fixture.topic('commands');
  await send();
  await send();
  await asAdmin(fixture.env, async (admin) => {
    const ends = await admin.fetchTopicOffsets(topic);
    const partitions = ends.map(({ partition, high }) => ({ partition, offset: high }));
    await admin.deleteTopicRecords({ topic, partitions });
  });
  const second = await fixture.control(urls);
  expect(await send('--wait')).toMatchObject({ exitCode: 0 });
  expect(second.lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([
    expect.objectContaining({
      level: 'error',
      topic,
      partition: expect.any(Number),
      from: 1,
      to: 2,
      msg: expect.stringContaining('were deleted before they were read'),
    }),
  ]);
});
