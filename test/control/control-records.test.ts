import { expect, it } from 'vitest';
import { readCommandSchemas } from '../../src/avro/command-schemas.ts';
import { readSchemaFiles } from '../../src/avro/schema-files.ts';
import { createControlRecords } from '../../src/control/control-records.ts';
import { HooklineError } from '../../src/core/errors.ts';
import { tenureOf } from '../../src/core/tenure.ts';

/** The way to topics whose brokers fail as told, in turn. */
function open(...ends: Error[]) {
  const published: string[] = [];
  const deadlines: number[] = [];
  const delays: unknown[] = [];
  const records = createControlRecords({
    publisher: {
      async publish({ topic }, deadlineMs) {
        published.push(topic);
        deadlines.push(deadlineMs);
        const end = ends.shift();
        if (end) throw end;
        return { topic, partition: 0, offset: 0n };
      },
    },
    prefix: 'payments',
    schemas: readCommandSchemas(readSchemaFiles(undefined, 'commands')),
    ids: { of: () => 1 },
    sessionTimeoutMs: 10_000,
    onDelay: (topic) => delays.push(topic),
    onParked: () => {},
  });
  return { records, published, deadlines, delays };
}

it('what could not be stored is tried again', async () => {
  const { records, published, delays } = open(new HooklineError('PUBLISH_DEADLINE'));
  await records.storeSubscription('a', null, { ...tenureOf(new AbortController().signal), epoch: 3 });
  expect(published).toEqual(['payments.subscriptions', 'payments.subscriptions']);
  expect(delays).toEqual(['payments.subscriptions']);
});

it('what was under way is given up when another may have taken the place of this process', async () => {
  const { records, deadlines } = open();
  await records.storeSubscription('a', null, { ...tenureOf(new AbortController().signal), epoch: 3 });
  expect(deadlines).toEqual([10_000]);
});

it('what is another’s by now is not stored, nor tried again', async () => {
  const { records, published, delays } = open(new HooklineError('PUBLISH_DEADLINE'));
  const over = new AbortController();
  let looks = 0;
  const tenure = {
    epoch: 3,
    signal: over.signal,
    check() {
      if (++looks === 2) over.abort();
      over.signal.throwIfAborted();
    },
  };
  await expect(records.storeSubscription('a', null, tenure)).rejects.toMatchObject({ name: 'AbortError' });
  expect([looks, published, delays]).toEqual([2, ['payments.subscriptions'], ['payments.subscriptions']]);
});
