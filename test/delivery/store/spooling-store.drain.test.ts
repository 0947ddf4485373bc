import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { AttemptError } from '../../../src/kafka/produce/attempt-error.ts';
import { verified } from '../../support/delivery-parts.ts';
import { PATIENCE_MS, placesOf, SpoolScene, sealingKeysOf } from '../../support/spool-scene.ts';
import { until } from '../../support/until.ts';

vi.setConfig({ testTimeout: 60_000 });

let scene: SpoolScene;
beforeEach(async () => {
  scene = new SpoolScene();
  await scene.start(scene.largeBodies);
});
afterEach(() => scene.end());

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const upTo = (last: number) => Array.from({ length: last }, (_, n) => n + 1);

it('drains a large one whose key is held while an earlier one of it is with the brokers', async () => {
  // Not confirmed in time it would go to the spool, too, and behind the large one, which waits for none that is not answered.
  scene.publishDeadlineMs = PATIENCE_MS;
  await scene.stop();
  await scene.start(scene.largeBodies);
  const confirmed = Promise.withResolvers<undefined>();
  scene.cluster.fateOf = ({ values }) =>
    values.some((value) => value.includes('"n":1')) ? confirmed.promise : undefined;
  const first = scene.send('ent-a', 1);
  scene.refused = { entity: '"n":2', fate: 'object_refused' };
  expect((await scene.sendLarge('ent-a', 2)).stored).toBe('spool');
  confirmed.resolve(undefined);
  await first;
  scene.refused = undefined;
  await until('nothing is left', () => scene.spool.outstanding === 0, PATIENCE_MS);
  expect(scene.order('ent-a')).toEqual([1, 2]);
});

it('does not end while a row is to be read, whatever lost its key while it waited for the object store', async () => {
  await scene.restart(sealingKeysOf('a'));
  scene.isStoreDown = true;
  await scene.send('ent-w', 1, true);
  await scene.spool.renewKeys(sealingKeysOf('b', 'a'));
  await scene.send('ent-v', 1, true);
  scene.isUnavailable = true;
  await scene.send('ent-y', 1);
  expect(scene.store.isSpooling).toBe(true);
  await pause(600);
  await scene.spool.renewKeys(sealingKeysOf('b'));
  scene.isUnavailable = false;
  await until('the last row is stored', () => scene.order('ent-y').length === 1, PATIENCE_MS);
  for (const n of upTo(40)) await scene.send('ent-x', n);
  await until('all are stored', () => scene.order('ent-x').length === 40, PATIENCE_MS);
  expect(scene.order('ent-x')).toEqual(upTo(40));
  expect([scene.spool.outstanding, scene.spool.state.keyMissing]).toEqual([1, 1]);
  await scene.spool.renewKeys(sealingKeysOf('b', 'a'));
  scene.isStoreDown = false;
  await until('nothing is left', () => scene.spool.state.rows === 0, PATIENCE_MS);
  expect([scene.order('ent-w'), scene.order('ent-v')]).toEqual([[1], [1]]);
});

it('reads nothing again and again when a row that waits has lost its key', async () => {
  await scene.restart(sealingKeysOf('b'));
  scene.refused = { entity: 'ent-', fate: 'object_refused' };
  await scene.send('ent-v', 1, true);
  await scene.spool.renewKeys(sealingKeysOf('a', 'b'));
  await scene.send('ent-w', 1, true);
  await pause(600);
  await scene.spool.renewKeys(sealingKeysOf('b'));
  await pause(600);
  let reads = 0;
  const read = scene.spool.read.bind(scene.spool);
  scene.spool.read = (limits) => {
    reads++;
    return read(limits);
  };
  await pause(2_000);
  // At most one in a quarter of a second, and tries.
  expect(reads).toBeLessThan(40);
  scene.refused = undefined;
  await until('the other one is stored', () => scene.order('ent-v').length === 1, PATIENCE_MS);
});

it('tries rows behind a large one that waits, while a topic is stuck and the sealing keys have changed', async () => {
  scene.isStoreDown = true;
  await scene.sendLarge('ent-l', 1);
  await scene.send('ent-r', 1, true);
  const stuck = Promise.withResolvers<undefined>();
  scene.cluster.fateOf = ({ topic }) => (topic.includes('collection') ? stuck.promise : undefined);
  await scene.send('ent-t', 1, false, 'collection-status');
  const isStuck = () => scene.log.some((line) => line.includes('confirms nothing'));
  await until('the topic is stuck', isStuck, PATIENCE_MS);
  await scene.spool.renewKeys(sealingKeysOf('b'));
  scene.refused = { entity: 'ent-l', fate: 'object_refused' };
  scene.isStoreDown = false;
  await until('the row behind is stored', () => scene.order('ent-r').length === 1, PATIENCE_MS);
  scene.refused = undefined;
  stuck.resolve(undefined);
  await until('nothing is left', () => scene.spool.outstanding === 0, PATIENCE_MS);
  expect([scene.order('ent-l'), scene.order('ent-t')]).toEqual([[1], [1]]);
});

it('makes a dead-letter record of an event that was too large, also where its topic takes it later', async () => {
  let isLow = true;
  scene.isUnavailable = true;
  const padding = 'x'.repeat(1_500);
  const large = scene.store.store(
    verified(`{"type":"payment-status","entityId":"ent-a","n":1,"padding":"${padding}"}`),
  );
  expect(placesOf(await Promise.all([large, scene.send('ent-a', 2)]))).toEqual(['spool', 'spool']);
  scene.cluster.fateOf = ({ values, topic }) =>
    isLow && (topic.includes('dead-letter') || values.some((value) => value.length > 1_400))
      ? new AttemptError('split', 'MESSAGE_TOO_LARGE')
      : undefined;
  await until('the later one is stored', () => scene.order('ent-a').length === 1, PATIENCE_MS);
  isLow = false;
  await scene.drained();
  expect(scene.order('ent-a')).toEqual([2]);
  const places = [...scene.cluster.log].map(([place, values]) => [place.replace(/-\d+$/, ''), values.length]);
  expect(Object.fromEntries(places)).toEqual({ 'payments.payment-status': 1, 'payments.dead-letter': 1 });
});

it('stores what comes while one object takes long', async () => {
  await scene.stop();
  await scene.start(undefined, 30_000);
  const written = Promise.withResolvers<undefined>();
  scene.objects.store.fateOf = (_, __, bytes) => (bytes?.includes('ent-q') ? written.promise : undefined);
  scene.isUnavailable = true;
  await Promise.all([scene.send('ent-a', 1), scene.send('ent-q', 1, true)]);
  scene.isUnavailable = false;
  await until('the first is stored', () => scene.order('ent-a').length === 1, PATIENCE_MS);
  await scene.send('ent-a', 2);
  await until('the next is stored', () => scene.order('ent-a').length === 2, PATIENCE_MS);
  expect(scene.order('ent-q')).toEqual([]);
  written.resolve(undefined);
  await scene.drained();
  expect(scene.order('ent-q')).toEqual([1]);
});
