import { expect, it } from 'vitest';
import type { RegisteredSchema } from '../../src/avro/resolve-ids.ts';
import { watchedIds } from '../../src/avro/watch-ids.ts';
import { HooklineError } from '../../src/core/errors.ts';
import { capturedLog } from '../support/captured-log.ts';
import { manualClock } from '../support/manual-clock.ts';

const schemas = ['a.avsc', 'b.avsc'].map((file) => ({ file, topic: file }) as RegisteredSchema);

/** A process that watches the ids which a registry gives out. */
async function watching() {
  const clock = manualClock();
  const { logger, lines } = capturedLog();
  const stopping = new AbortController();
  const failures: unknown[] = [];
  const registry = { ids: [1, 2], failure: undefined as Error | undefined, looks: 0 };
  const look = async () => {
    registry.looks++;
    if (registry.failure) throw registry.failure;
    const ids = [...registry.ids];
    return { of: ({ file }: { file: string }) => ids[file === 'a.avsc' ? 0 : 1] as number };
  };
  const components = { stopping: stopping.signal, fail: (error: unknown) => failures.push(error) };
  const context = { logger, clock, components } as unknown as Parameters<typeof watchedIds>[2];
  const ids = await watchedIds(schemas, look, context);
  return { ...{ clock, lines, stopping, failures, registry }, ids: schemas.map((one) => ids.of(one)) };
}

it('ends the process when the registry has other ids than at its start, and has them twice', async () => {
  const the = await watching();
  await the.clock.advance(61_000);
  expect([the.ids, the.failures]).toEqual([[1, 2], []]);
  the.registry.ids = [1, 3];
  await the.clock.advance(60_000);
  expect(the.failures).toEqual([]);
  await the.clock.advance(6_000);
  expect(the.failures).toEqual([expect.objectContaining({ code: 'SCHEMA_IDS_CHANGED' })]);
  expect(String(the.failures[0])).toContain('b.avsc had 2, has 3');
  await the.clock.advance(600_000);
  expect(the.failures).toHaveLength(1);
});

it('goes on where the registry has had other ids once, or is not there, and says that it has lost a schema', async () => {
  const the = await watching();
  the.registry.ids = [2, 1];
  await the.clock.advance(61_000);
  the.registry.ids = [1, 2];
  await the.clock.advance(60_000);
  the.registry.failure = new HooklineError('REGISTRY_UNAVAILABLE');
  await the.clock.advance(120_000);
  expect([the.failures, the.lines()]).toEqual([[], []]);
  the.registry.failure = new HooklineError('SCHEMA_NOT_REGISTERED', 'a.avsc');
  await the.clock.advance(60_000);
  expect([the.failures, the.lines().map(({ msg }) => msg)]).toEqual([
    [],
    ['the ids of the schemas cannot be looked up'],
  ]);
  the.stopping.abort(new Error('stopped'));
  const { looks } = the.registry;
  await the.clock.advance(600_000);
  expect([the.registry.looks, the.clock.waiting()]).toEqual([looks, 0]);
});
