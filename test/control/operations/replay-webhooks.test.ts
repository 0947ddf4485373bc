import { describe, expect, it } from 'vitest';
import { create, NEARLY_ALL_MS, openControlHarness, passTime } from '../../support/control-harness.ts';

/** A harness with a subscription and three webhook runs of it, whose deliveries reach nobody. */
async function harnessWithRuns() {
  const harness = await openControlHarness({ publicUrl: 'http://127.0.0.1:9' });
  await harness.run(create('a'));
  const { json } = await harness.sandbox.trigger({ ref: 'a', count: 3, wait: 'first' });
  const ids: string[] = json.executions.map(({ id }: { id: string }) => id);
  return { harness, ids, [Symbol.asyncDispose]: () => harness[Symbol.asyncDispose]() };
}

const replay = (executionIds: string[], more: object = {}) => ({
  type: 'webhook.replay',
  ref: 'a',
  executionIds,
  ...more,
});

describe('a replay', () => {
  it('has each run sent again, once', async () => {
    await using the = await harnessWithRuns();
    const [one = '', two = ''] = the.ids;
    expect(await the.harness.run(replay([one, two, one]))).toMatchObject({
      status: 'SUCCEEDED',
      message: '2 run(s) replayed',
      attempts: 2,
    });
  });

  it('that meets a run which is not there says how far it came', async () => {
    await using the = await harnessWithRuns();
    const [one = '', two = ''] = the.ids;
    expect(await the.harness.run(replay([one, 'none', two]))).toMatchObject({
      status: 'FAILED',
      errorCode: 'SUBSCRIPTION_NOT_FOUND',
      message: expect.stringContaining('run none, after 1 of 3'),
    });
  });

  it('whose time is up although each run was sent again at once says how far it came', async () => {
    await using the = await harnessWithRuns();
    passTime(the.harness, 'POST', NEARLY_ALL_MS / 2 + 500);
    expect(await the.harness.run(replay(the.ids))).toMatchObject({
      status: 'FAILED',
      errorCode: 'COMMAND_TIMED_OUT',
      attempts: 2,
      httpStatus: 202,
      message: expect.stringContaining(`run ${the.ids[2]}, after 2 of 3 in their order`),
    });
    expect(await the.harness.provider.logged('replay')).toHaveLength(2);
  });

  it('that the provider refuses in the middle says how far it came', async () => {
    await using the = await harnessWithRuns();
    await the.harness.sandbox.fail(
      { operation: 'replay', kind: 'delay', ms: 0 },
      { operation: 'replay', kind: 'status', code: 422 },
    );
    expect(await the.harness.run(replay(the.ids))).toMatchObject({
      status: 'FAILED',
      errorCode: 'PROVIDER_REFUSED',
      message: expect.stringContaining(`; run ${the.ids[1]}, after 1 of 3 in their order`),
    });
  });

  it('as a dry run sends nothing, and for an unknown ref is REJECTED', async () => {
    await using the = await harnessWithRuns();
    expect(await the.harness.run(replay(the.ids, { dryRun: true }))).toMatchObject({
      message: 'dry run: would replay 3 run(s)',
      attempts: 0,
    });
    expect(await the.harness.run(replay(the.ids, { ref: 'b' }))).toMatchObject({ errorCode: 'UNKNOWN_REF' });
    expect(await the.harness.provider.logged('replay')).toEqual([]);
  });
});
