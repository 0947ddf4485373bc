import { describe, expect, it } from 'vitest';
import { create, openControlDesk } from '../../support/control-desk.ts';

/** A desk with a subscription and three webhook runs of it, whose deliveries reach nobody. */
async function deskWithRuns() {
  const desk = await openControlDesk({ publicUrl: 'http://127.0.0.1:9' });
  await desk.run(create('a'));
  const { json } = await desk.sandbox.trigger({ ref: 'a', count: 3, wait: 'first' });
  const ids: string[] = json.executions.map(({ id }: { id: string }) => id);
  return { desk, ids, [Symbol.asyncDispose]: () => desk[Symbol.asyncDispose]() };
}

const replay = (executionIds: string[], more: object = {}) => ({
  type: 'webhook.replay',
  ref: 'a',
  executionIds,
  ...more,
});

describe('a replay', () => {
  it('has each run sent again, once', async () => {
    await using the = await deskWithRuns();
    const [one = '', two = ''] = the.ids;
    expect(await the.desk.run(replay([one, two, one]))).toMatchObject({
      status: 'SUCCEEDED',
      message: '2 run(s) replayed',
      attempts: 2,
    });
  });

  it('that meets a run which is not there says how far it came', async () => {
    await using the = await deskWithRuns();
    const [one = '', two = ''] = the.ids;
    expect(await the.desk.run(replay([one, 'none', two]))).toMatchObject({
      status: 'FAILED',
      errorCode: 'SUBSCRIPTION_NOT_FOUND',
      message: expect.stringContaining('run none, after 1 of 3'),
    });
  });

  it('as a dry run sends nothing, and for an unknown ref is REJECTED', async () => {
    await using the = await deskWithRuns();
    expect(await the.desk.run(replay(the.ids, { dryRun: true }))).toMatchObject({
      message: 'dry run: would replay 3 run(s)',
      attempts: 0,
    });
    expect(await the.desk.run(replay(the.ids, { ref: 'b' }))).toMatchObject({ errorCode: 'UNKNOWN_REF' });
    expect(await the.desk.provider.logged('replay')).toEqual([]);
  });
});
