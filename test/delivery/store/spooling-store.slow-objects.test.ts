import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { PATIENCE_MS, placesOf, SpoolScene, sealingKeysOf } from '../../support/spool-scene.ts';
import { until } from '../../support/until.ts';

vi.setConfig({ testTimeout: 90_000 });

/** No write of an object comes to its deadline here. */
const NEVER_MS = 600_000;

let scene: SpoolScene;
/** Objects with this text are written when it is resolved. */
let slow: Map<string, PromiseWithResolvers<undefined>>;
beforeEach(async () => {
  scene = new SpoolScene();
  await scene.start(scene.largeBodies, NEVER_MS);
  slow = new Map();
  scene.objects.store.fateOf = (call, _, bytes) => {
    if (!call.startsWith('create')) return undefined;
    if (scene.isStoreDown) return 'unavailable';
    if (scene.refused && bytes?.includes(scene.refused.entity)) return scene.refused.fate;
    for (const [text, { promise }] of slow) if (bytes?.includes(text)) return promise;
    return undefined;
  };
});
afterEach(async () => {
  for (const { resolve } of slow.values()) resolve(undefined);
  await scene.end();
});

const slowDown = (entity: string) => {
  const held = Promise.withResolvers<undefined>();
  slow.set(entity, held);
  return held;
};
const endSlow = (entity: string) => {
  slow.get(entity)?.resolve(undefined);
  slow.delete(entity);
};
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const isBeingWritten = () => scene.objects.store.calls.some((call) => call.startsWith('create'));

it('the spool is left when Kafka is back, but for the entity whose object takes long', async () => {
  slowDown('ent-slow');
  scene.isUnavailable = true;
  const first = [scene.send('ent-b', 1), scene.send('ent-slow', 1, true), scene.send('ent-slow', 2)];
  expect(placesOf(await Promise.all(first))).toEqual(['spool', 'spool', 'spool']);
  expect(scene.store.isSpooling).toBe(true);
  scene.isUnavailable = false;
  await until('others go to Kafka', () => !scene.store.isSpooling, PATIENCE_MS);
  const later = [scene.send('ent-b', 2), scene.send('ent-slow', 3), scene.send('ent-c', 1, true)];
  expect(placesOf(await Promise.all(later))).toEqual(['kafka', 'spool', 'kafka']);
  expect([scene.order('ent-b'), scene.order('ent-slow')]).toEqual([[1, 2], []]);
  endSlow('ent-slow');
  await scene.drained();
  expect(scene.order('ent-slow')).toEqual([1, 2, 3]);
  expect(placesOf([await scene.send('ent-slow', 4, true)])).toEqual(['kafka']);
});

it('what is behind an object that takes long waits with it, when the store refuses it at last', async () => {
  const held = Promise.withResolvers<'object_refused'>();
  scene.objects.store.fateOf = (call, n) => (call.startsWith('create') && n === 1 ? held.promise : undefined);
  scene.isUnavailable = true;
  await Promise.all([scene.send('ent-a', 1, true), scene.send('ent-a', 2, true), scene.send('ent-b', 1)]);
  scene.isUnavailable = false;
  await until('others go to Kafka', () => !scene.store.isSpooling, PATIENCE_MS);
  held.resolve('object_refused');
  expect((await scene.send('ent-a', 3)).stored).toBe('spool');
  await scene.drained();
  expect([scene.order('ent-a'), scene.order('ent-b')]).toEqual([[1, 2, 3], [1]]);
});

it('the spool is left under steady traffic, though each message has an object that takes long', async () => {
  scene.objects.store.fateOf = async (call) => {
    if (call.startsWith('create')) await pause(2_000);
    return undefined;
  };
  scene.isUnavailable = true;
  await scene.send('ent-first', 1);
  const sent: Promise<unknown>[] = [];
  const timer = setInterval(() => sent.push(scene.send(`ent-${sent.length}`, 1, true)), 100);
  await pause(1_000);
  scene.isUnavailable = false;
  await until('others go to Kafka', () => !scene.store.isSpooling, 20_000).finally(() =>
    clearInterval(timer),
  );
  await Promise.all(sent);
  await until('all is drained', () => scene.spool.state.rows === 0, PATIENCE_MS);
});

it('what is behind the second object of its entity that takes long keeps no place in the drain', async () => {
  // More than the drain has batches in progress.
  const entities = Array.from({ length: 9 }, (_, n) => `ent-slow${n}-`);
  const textOf = (entity: string, n: number) => `"entityId":"${entity}","n":${n},`;
  for (const entity of entities) for (const n of [1, 2]) slowDown(textOf(entity, n));
  scene.isUnavailable = true;
  await scene.send('ent-first', 1);
  await Promise.all(entities.flatMap((entity) => [scene.send(entity, 1, true), scene.send(entity, 2, true)]));
  scene.isUnavailable = false;
  await until('others go to Kafka', () => !scene.store.isSpooling, PATIENCE_MS);
  for (const entity of entities) expect((await scene.send(entity, 3)).stored).toBe('spool');
  for (const entity of entities) {
    await pause(100);
    endSlow(textOf(entity, 1));
    await until('its first is stored', () => scene.order(entity).length === 1, PATIENCE_MS);
  }
  scene.isUnavailable = true;
  expect((await scene.send('ent-b', 1)).stored).toBe('spool');
  scene.isUnavailable = false;
  await until('others go to Kafka again', () => !scene.store.isSpooling, 20_000);
  expect(scene.order('ent-b')).toEqual([1]);
  for (const entity of entities) endSlow(textOf(entity, 2));
  await scene.drained();
  for (const entity of entities) expect(scene.order(entity)).toEqual([1, 2, 3]);
});

it('a large row that waited is stored while the object of another entity takes long', async () => {
  scene.refused = { entity: 'ent-large', fate: 'object_refused' };
  slowDown('ent-slow');
  scene.isUnavailable = true;
  await scene.sendLarge('ent-large', 1);
  await Promise.all([scene.send('ent-slow', 1, true), scene.send('ent-b', 1)]);
  scene.isUnavailable = false;
  await until('the slow one is written', isBeingWritten, PATIENCE_MS);
  await until('the others are stored', () => scene.order('ent-b').length === 1, PATIENCE_MS);
  scene.refused = undefined;
  await until('the large one is stored', () => scene.order('ent-large').length === 1, PATIENCE_MS);
  expect(scene.order('ent-slow')).toEqual([]);
  endSlow('ent-slow');
  await scene.drained();
});

it('a large row that was not tried before is stored while the object of another entity takes long', async () => {
  slowDown('ent-slow');
  scene.isUnavailable = true;
  await scene.send('ent-first', 1);
  await scene.send('ent-slow', 1, true);
  for (const entity of ['ent-slow', 'ent-large']) await scene.sendLarge(entity, 2);
  await scene.send('ent-b', 1);
  scene.isUnavailable = false;
  await until('the large one is stored', () => scene.order('ent-large').length === 1, PATIENCE_MS);
  await until('others go to Kafka', () => !scene.store.isSpooling, PATIENCE_MS);
  expect([scene.order('ent-b'), scene.order('ent-slow')]).toEqual([[1], []]);
  endSlow('ent-slow');
  await scene.drained();
  expect(scene.order('ent-slow')).toEqual([1, 2]);
});

it('the spool is left also where its sealing keys were renewed while an object takes long', async () => {
  await scene.stop();
  await scene.restart(sealingKeysOf('a'));
  await scene.stop();
  await scene.start(undefined, NEVER_MS);
  scene.objects.store.fateOf = (call) =>
    call.startsWith('create') ? slowDown('ent-slow').promise : undefined;
  scene.isUnavailable = true;
  await scene.send('ent-first', 1);
  await scene.send('ent-slow', 1, true);
  scene.isUnavailable = false;
  await until('it is written', isBeingWritten, PATIENCE_MS);
  await scene.spool.renewKeys(sealingKeysOf('b', 'a'));
  await until('others go to Kafka', () => !scene.store.isSpooling, PATIENCE_MS);
  expect((await scene.send('ent-slow', 2)).stored).toBe('spool');
  endSlow('ent-slow');
  await scene.drained();
  expect(scene.order('ent-slow')).toEqual([1, 2]);
});

it('small rows go on while a large row that waited is written', async () => {
  scene.refused = { entity: 'ent-large', fate: 'object_refused' };
  expect(placesOf([await scene.sendLarge('ent-large', 1), await scene.send('ent-b', 1, true)])).toEqual([
    'spool',
    'kafka',
  ]);
  await until(
    'the drain has tried it',
    () => scene.log.some((line) => line.startsWith('failed')),
    PATIENCE_MS,
  );
  slowDown('ent-large');
  const before = scene.objects.store.calls.length;
  scene.refused = undefined;
  await until('the large one is written', () => scene.objects.store.calls.length > before, PATIENCE_MS);
  scene.isUnavailable = true;
  expect((await scene.send('ent-b', 2)).stored).toBe('spool');
  scene.isUnavailable = false;
  await until('it is drained', () => scene.order('ent-b').length === 2, PATIENCE_MS);
  await until('others go to Kafka', () => !scene.store.isSpooling, PATIENCE_MS);
  expect(placesOf([await scene.send('ent-b', 3), await scene.send('ent-large', 2)])).toEqual([
    'kafka',
    'spool',
  ]);
  endSlow('ent-large');
  await scene.drained();
  expect([scene.order('ent-b'), scene.order('ent-large')]).toEqual([
    [1, 2, 3],
    [1, 2],
  ]);
});

it('a row that its topic did not take does not wait for an object store that is down since', async () => {
  await scene.stop();
  await scene.start(undefined, 200);
  // Entities in two partitions.
  const placeOf = async (entity: string) => {
    await scene.send(entity, 0);
    return scene.cluster.sends.at(-1)?.partition;
  };
  const place = await placeOf('ent-a');
  let other = '';
  for (let n = 0; other === ''; n++) if ((await placeOf(`ent-z${n}`)) !== place) other = `ent-z${n}`;
  const confirmed = new Map(
    ['ent-a', other].map((one) => [one, Promise.withResolvers<undefined>()] as const),
  );
  scene.refused = { entity: '"padding"', fate: 'object_refused' };
  scene.objects.store.fateOf = (call, _, bytes) => {
    if (scene.isStoreDown) return 'unavailable';
    return call.startsWith('create') && bytes?.includes(scene.refused?.entity ?? ' none')
      ? 'object_refused'
      : undefined;
  };
  await Promise.all([scene.send('ent-a', 1, true), scene.send(other, 1, true)]);
  expect((await scene.send('ent-a', 2)).stored).toBe('spool');
  scene.cluster.fateOf = ({ values }) =>
    [...confirmed].find(([entity]) => values.some((value) => value.includes(entity)))?.[1].promise;
  scene.refused = undefined;
  const isStuck = () => scene.log.some((line) => line.includes('confirms nothing'));
  await until('the topic takes no records', isStuck, PATIENCE_MS);
  confirmed.get('ent-a')?.resolve(undefined);
  await until('the first is stored', () => scene.order('ent-a').includes(1), PATIENCE_MS);
  // The second may begin now, and its topic takes none.
  await pause(700);
  expect(scene.order('ent-a')).toEqual([0, 1]);
  scene.isStoreDown = true;
  scene.send('ent-c', 1, true).catch(() => {});
  await until('the store is down', () => scene.claims.trouble !== null, PATIENCE_MS);
  confirmed.get(other)?.resolve(undefined);
  scene.cluster.fateOf = () => undefined;
  await until('the second is stored', () => scene.order('ent-a').includes(2), PATIENCE_MS);
  expect(scene.claims.trouble).not.toBeNull();
  scene.isStoreDown = false;
  await until('all is drained', () => scene.spool.state.rows === 0, PATIENCE_MS);
});

it('a row of one topic shows that the store is back, while another topic takes no records', async () => {
  await scene.stop();
  await scene.start(undefined, 200);
  const refused = new Set(['ent-a', 'ent-z']);
  scene.objects.store.fateOf = (call, _, bytes) => {
    if (!call.startsWith('create')) return undefined;
    if (scene.isStoreDown) return 'unavailable';
    return [...refused].some((one) => bytes?.includes(one)) ? 'object_refused' : undefined;
  };
  await Promise.all([scene.send('ent-a', 1, true), scene.send('ent-z', 1, true, 'collection-status')]);
  const tries = () => scene.objects.store.calls.filter((call) => /^create .*collection/.test(call)).length;
  await until('the drain has tried it', () => tries() >= 2, PATIENCE_MS);
  const confirmed = Promise.withResolvers<undefined>();
  scene.cluster.fateOf = ({ topic }) => (topic.includes('collection') ? confirmed.promise : undefined);
  refused.delete('ent-z');
  const isStuck = () => scene.log.some((line) => line.includes('confirms nothing'));
  await until('its topic takes no records', isStuck, PATIENCE_MS);
  scene.isStoreDown = true;
  await until('the store is down', () => scene.claims.trouble !== null, PATIENCE_MS);
  refused.clear();
  scene.isStoreDown = false;
  await until('the other is stored', () => scene.order('ent-a').length === 1, PATIENCE_MS);
  expect(scene.order('ent-z')).toEqual([]);
  confirmed.resolve(undefined);
  await until('all is drained', () => scene.spool.state.rows === 0, PATIENCE_MS);
});
