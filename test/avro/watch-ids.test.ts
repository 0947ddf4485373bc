import { expect, it } from 'vitest';
import type { Registry } from '../../src/avro/registry.ts';
import type { RegisteredSchema } from '../../src/avro/resolve-ids.ts';
import { watchedIds } from '../../src/avro/watch-ids.ts';
import { HooklineError } from '../../src/core/errors.ts';
import { capturedLog } from '../support/captured-log.ts';
import { manualClock } from '../support/manual-clock.ts';

const schemas = ['a', 'b'].map(
  (topic) => ({ file: `${topic}.avsc`, topic, codec: { schema: '{}' } }) as unknown as RegisteredSchema,
);

/** A process that watches the ids which a registry gives out. */
async function watching() {
  const clock = manualClock();
  const { logger, lines } = capturedLog();
  const stopping = new AbortController();
  const failures: unknown[] = [];
  const answers = { ids: [1, 2] as (number | null)[], failure: undefined as Error | undefined, looks: 0 };
  const idOf = async (subject: string) => {
    answers.looks++;
    if (answers.failure) throw answers.failure;
    const id = answers.ids[subject === 'p.a-value' ? 0 : 1];
    if (typeof id !== 'number') throw new HooklineError('SCHEMA_NOT_REGISTERED');
    return id;
  };
  let changes = 0;
  const deps = { registry: { idOf } as unknown as Registry, prefix: 'p', onChanged: () => changes++ };
  const components = { stopping: stopping.signal, fail: (error: unknown) => failures.push(error) };
  const context = { logger, clock, components } as unknown as Parameters<typeof watchedIds>[2];
  const ids = await watchedIds(deps, schemas, context);
  const at = schemas.map((one) => ids.of(one));
  return { clock, lines, stopping, failures, answers, ids: at, changes: () => changes };
}

it('ends the process when the registry has other ids than at its start, and has them twice', async () => {
  const the = await watching();
  await the.clock.advance(61_000);
  expect([the.ids, the.failures]).toEqual([[1, 2], []]);
  // One of them was lost: that does not hide what the other one is now.
  the.answers.ids = [null, 3];
  await the.clock.advance(60_000);
  expect(the.failures).toEqual([]);
  await the.clock.advance(6_000);
  expect(the.failures).toEqual([expect.objectContaining({ code: 'SCHEMA_IDS_CHANGED' })]);
  expect([String(the.failures[0]), the.changes()]).toEqual([
    expect.stringContaining('b.avsc had 2, has 3'),
    1,
  ]);
  await the.clock.advance(600_000);
  expect(the.failures).toHaveLength(1);
});

it('goes on where the registry has had other ids once', async () => {
  const the = await watching();
  the.answers.ids = [2, 1];
  await the.clock.advance(61_000);
  the.answers.ids = [1, 2];
  await the.clock.advance(60_000);
  expect([the.failures, the.lines()]).toEqual([[], []]);
  the.stopping.abort(new Error('stopped'));
  const { looks } = the.answers;
  await the.clock.advance(600_000);
  expect([the.answers.looks, the.clock.waiting()]).toEqual([looks, 0]);
});

it('does not say that the ids are back where others were there once, and schemas are lost', async () => {
  const the = await watching();
  the.answers.ids = [null, 2];
  await the.clock.advance(120_000);
  expect(the.lines().map(({ level }) => level)).toEqual(['error']);
  the.answers.ids = [null, 3];
  await the.clock.advance(60_000);
  the.answers.ids = [null, 2];
  await the.clock.advance(600_000);
  expect([the.lines().length, the.failures]).toEqual([1, []]);
});

it('goes on without the registry, and says once that it cannot be asked, that it lacks schemas, and that they are back', async () => {
  const the = await watching();
  const told = () => the.lines().map(({ level, msg, err }) => `${level} ${msg} ${(err as Error)?.message}`);
  the.answers.failure = new HooklineError('REGISTRY_UNAVAILABLE', 'connect ECONNREFUSED');
  await the.clock.advance(61_000);
  expect(told()).toEqual([expect.stringMatching(/^warn the schema registry cannot be asked.*ECONNREFUSED/)]);
  the.answers.failure = new HooklineError('REGISTRY_UNAVAILABLE', 'socket hang up');
  await the.clock.advance(600_000);
  expect(told()).toHaveLength(1);
  the.answers.failure = new HooklineError('REGISTRY_REFUSED', undefined, { remedy: 'correct the password' });
  await the.clock.advance(600_000);
  expect(told().slice(1)).toEqual([expect.stringMatching(/^warn .*one that starts.*waits.*the password$/)]);
  the.answers.failure = undefined;
  the.answers.ids = [1, null];
  await the.clock.advance(600_000);
  expect(told().slice(2)).toEqual([
    expect.stringMatching(/^error the registry does not have the schemas any more.*runbook.*b\.avsc/),
  ]);
  the.answers.ids = [1, 2];
  await the.clock.advance(600_000);
  expect(told().slice(3)).toEqual([
    expect.stringMatching(/^info the schema registry has the ids of the schemas again/),
  ]);
  the.answers.failure = new Error('unheard of');
  await the.clock.advance(600_000);
  expect(told().slice(4)).toEqual(['error the ids of the schemas cannot be looked up unheard of']);
  expect(the.failures).toEqual([]);
});
