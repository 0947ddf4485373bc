import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Receipt } from '../../../src/core/delivery.ts';
import { HooklineError } from '../../../src/core/errors.ts';
import { verified } from '../../support/delivery-parts.ts';
import type { Fate } from '../../support/scripted-object-store.ts';
import { PATIENCE_MS, placesOf, SpoolScene, sealingKeysOf } from '../../support/spool-scene.ts';
import { until } from '../../support/until.ts';

vi.setConfig({ testTimeout: 60_000 });

let scene: SpoolScene;
beforeEach(async () => {
  scene = new SpoolScene();
  await scene.start();
});
afterEach(() => scene.end());

describe('a store with a spool, while the object store takes nothing', () => {
  it('spools what needs it and later ones of the key, and sends all others to Kafka', async () => {
    scene.isStoreDown = true;
    expect((await scene.send('ent-a', 1, true)).stored).toBe('spool');
    expect(
      placesOf(
        await Promise.all([
          scene.send('ent-a', 2),
          scene.send('ent-b', 1),
          scene.send('ent-c', 1, true),
          scene.send('ent-b', 2),
        ]),
      ),
    ).toEqual(['spool', 'kafka', 'spool', 'kafka']);
    expect(scene.log).toEqual(['holding']);
    expect(scene.store.isSpooling).toBe(false);
    scene.isStoreDown = false;
    await scene.drained();
    expect(placesOf([await scene.send('ent-a', 3), await scene.send('ent-c', 2, true)])).toEqual([
      'kafka',
      'kafka',
    ]);
    expect([scene.order('ent-a'), scene.order('ent-b'), scene.order('ent-c')]).toEqual([
      [1, 2, 3],
      [1, 2],
      [1, 2],
    ]);
    expect(scene.log).toEqual(['holding', 'drained 3']);
    expect(scene.spool.state.rows).toBe(0);
  });

  it('lets no small one wait for an earlier object of its key longer than for Kafka', async () => {
    await scene.stop();
    // No write to the object store ends by itself before this test would.
    await scene.start(undefined, 600_000);
    const held = Promise.withResolvers<undefined>();
    scene.objects.store.fateOf = (call, n) =>
      call.startsWith('create') && n === 1 ? held.promise : undefined;
    const first = [scene.send('ent-a', 1, true), scene.send('ent-a', 2)];
    expect((await scene.send('ent-b', 1)).stored).toBe('kafka');
    expect(placesOf(await Promise.all(first))).toEqual(['spool', 'spool']);
    expect(placesOf([await scene.send('ent-a', 3), await scene.send('ent-a', 4, true)])).toEqual([
      'spool',
      'spool',
    ]);
    expect(scene.order('ent-a')).toEqual([]);
    held.resolve(undefined);
    await scene.drained();
    expect(scene.order('ent-a')).toEqual([1, 2, 3, 4]);
    expect(scene.log).toEqual(['holding', 'drained 4']);
  });

  it('keeps the order of keys, whatever comes and goes meanwhile', async () => {
    const entities = ['ent-a', 'ent-b', 'ent-c', 'ent-d'];
    const sent = new Map(entities.map((entity) => [entity, 0]));
    const sending: Promise<Receipt>[] = [];
    for (let round = 0; round < 200; round++) {
      scene.isStoreDown = round % 50 > 20 && round < 160;
      scene.isUnavailable = round > 60 && round < 90;
      for (const entity of entities) {
        const n = (sent.get(entity) ?? 0) + 1;
        sent.set(entity, n);
        sending.push(scene.send(entity, n, (n + entity.charCodeAt(4)) % 5 === 0));
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    scene.isStoreDown = false;
    scene.isUnavailable = false;
    await Promise.all(sending);
    await until('the spool is drained', () => scene.spool.state.rows === 0, PATIENCE_MS);
    for (const entity of entities)
      expect(scene.order(entity)).toEqual(Array.from({ length: 200 }, (_, n) => n + 1));
  });

  it('goes back to Kafka with all others when nothing else is left in the spool', async () => {
    scene.isStoreDown = true;
    scene.isUnavailable = true;
    expect(
      placesOf(
        await Promise.all([scene.send('ent-a', 1, true), scene.send('ent-b', 1), scene.send('ent-b', 2)]),
      ),
    ).toEqual(['spool', 'spool', 'spool']);
    expect(scene.store.isSpooling).toBe(true);
    scene.isUnavailable = false;
    await until('others go to Kafka', () => !scene.store.isSpooling, PATIENCE_MS);
    expect(placesOf([await scene.send('ent-b', 3), await scene.send('ent-a', 2)])).toEqual([
      'kafka',
      'spool',
    ]);
    expect(scene.order('ent-b')).toEqual([1, 2, 3]);
    scene.isStoreDown = false;
    await scene.drained();
    expect(scene.order('ent-a')).toEqual([1, 2]);
  });

  it('spools what needs it behind an earlier one of its key that Kafka does not confirm either', async () => {
    scene.isStoreDown = true;
    scene.isUnavailable = true;
    const sending = [scene.send('ent-a', 1), scene.send('ent-a', 2, true), scene.send('ent-a', 3)];
    expect(placesOf(await Promise.all(sending))).toEqual(['spool', 'spool', 'spool']);
    scene.isStoreDown = false;
    scene.isUnavailable = false;
    await scene.drained();
    expect(scene.order('ent-a')).toEqual([1, 2, 3]);
  });

  it('spools what needs it when the earlier one of its key is confirmed', async () => {
    scene.isStoreDown = true;
    const confirmed = Promise.withResolvers<undefined>();
    scene.cluster.fateOf = () => confirmed.promise;
    const first = scene.send('ent-a', 1);
    const second = scene.send('ent-a', 2, true);
    await until('its object is refused', () => scene.log.includes('holding'));
    expect(scene.spool.outstanding).toBe(0);
    confirmed.resolve(undefined);
    expect(placesOf(await Promise.all([first, second]))).toEqual(['kafka', 'spool']);
    scene.isStoreDown = false;
    await scene.drained();
    expect(scene.order('ent-a')).toEqual([1, 2]);
  });

  it('keeps what waits over a restart', async () => {
    scene.isStoreDown = true;
    await Promise.all([scene.send('ent-a', 1, true), scene.send('ent-a', 2), scene.send('ent-b', 1, true)]);
    await scene.stop();
    await scene.start();
    scene.isStoreDown = true;
    expect((await scene.send('ent-a', 3)).stored).toBe('spool');
    await until('others go to Kafka', () => !scene.store.isSpooling, PATIENCE_MS);
    expect((await scene.send('ent-c', 1)).stored).toBe('kafka');
    scene.isStoreDown = false;
    await scene.drained();
    expect([scene.order('ent-a'), scene.order('ent-b')]).toEqual([[1, 2, 3], [1]]);
  });

  it('ends a hold under steady traffic of the same key', async () => {
    scene.isStoreDown = true;
    await scene.send('ent-a', 1, true);
    scene.isStoreDown = false;
    const sending: Promise<Receipt>[] = [];
    let n = 1;
    let isOver = false;
    const over = (receipt: Receipt) => {
      isOver ||= receipt.stored === 'kafka';
      return receipt;
    };
    await until(
      'an event of the key goes to Kafka again',
      async () => {
        for (let sent = 0; sent < 100; sent++, await new Promise((resolve) => setTimeout(resolve, 1)))
          sending.push(scene.send('ent-a', ++n).then(over));
        return isOver;
      },
      PATIENCE_MS,
    );
    await Promise.all(sending);
    expect(scene.order('ent-a')).toEqual(Array.from({ length: n }, (_, at) => at + 1));
  });

  it('does not believe one that is full and still takes the object of a check', async () => {
    scene.objects.store.fateOf = (call) => (call.startsWith('create') ? 'unavailable' : undefined);
    const all = ['ent-a', 'ent-b', 'ent-c'].map((entity) => scene.send(entity, 1, true));
    expect(placesOf(await Promise.all(all))).toEqual(['spool', 'spool', 'spool']);
    const checks = () => scene.objects.store.calls.filter((call) => call.startsWith('replace')).length;
    await until('it is checked three times', () => checks() >= 3, PATIENCE_MS);
    // One row was tried after each check, within its deadline of 100 ms.
    expect(scene.objects.written.filter((outcome) => outcome === 'unavailable').length).toBeLessThanOrEqual(
      6,
    );
    expect(scene.objects.troubles).toEqual([expect.any(String)]);
    scene.objects.store.fateOf = () => undefined;
    await scene.drained();
    expect(scene.objects.troubles).toEqual([expect.any(String), null]);
    expect(scene.log).toEqual(['holding', 'drained 3']);
  });

  it('drains rows whose sealing key comes back, while others wait for the object store', async () => {
    scene.isUnavailable = true;
    await scene.restart(sealingKeysOf('a'));
    expect((await scene.send('ent-a', 1)).stored).toBe('spool');
    await scene.restart(sealingKeysOf('b'));
    scene.isUnavailable = false;
    scene.isStoreDown = true;
    expect((await scene.send('ent-b', 1, true)).stored).toBe('spool');
    await until('it waits', () => scene.log.includes('holding'), PATIENCE_MS);
    await scene.spool.renewKeys(sealingKeysOf('b', 'a'));
    scene.store.wake();
    await until('the other one is stored', () => scene.order('ent-a').length === 1, PATIENCE_MS);
    expect(scene.order('ent-b')).toEqual([]);
    scene.isStoreDown = false;
    await scene.drained();
  });

  it('dead-letters what cannot be opened when the store takes its body', async () => {
    scene.isStoreDown = true;
    const body = Buffer.alloc(5_000, 7);
    expect((await scene.store.store(verified(body))).stored).toBe('spool');
    scene.isStoreDown = false;
    await scene.drained();
    expect([...scene.objects.store.objects.keys()].filter((key) => key.endsWith('.bin'))).toHaveLength(1);
  });
});

const refusals = () => scene.log.filter((line) => line.startsWith('failed'));

describe('an object that the store does not take, while it takes others', () => {
  it.each<Fate>(['object_refused', 'unavailable'])(
    'and is %s holds up later ones of its key alone',
    async (fate) => {
      scene.isStoreDown = true;
      const down = [
        scene.send('ent-a', 1, true),
        scene.send('ent-b', 1, true),
        scene.send('ent-a', 2),
        scene.send('ent-c', 1, true),
      ];
      expect(placesOf(await Promise.all(down))).toEqual(Array(4).fill('spool'));
      scene.refused = { entity: 'ent-a', fate };
      scene.isStoreDown = false;
      await until(
        'others are stored',
        () => scene.order('ent-b').length + scene.order('ent-c').length === 2,
        PATIENCE_MS,
      );
      await until(
        'their keys go to Kafka again',
        async () => placesOf([await scene.send('ent-b', scene.order('ent-b').length + 1)])[0] === 'kafka',
        PATIENCE_MS,
      );
      expect(placesOf([await scene.send('ent-a', 3), await scene.send('ent-a', 4, true)])).toEqual([
        'spool',
        'spool',
      ]);
      expect(scene.order('ent-a')).toEqual([]);
      scene.refused = undefined;
      await scene.drained();
      expect(scene.order('ent-a')).toEqual([1, 2, 3, 4]);
      expect(scene.order('ent-b')).toEqual(Array.from(scene.order('ent-b'), (_, n) => n + 1));
    },
  );

  it('is told, and tried again ever more rarely, with none of those behind it', async () => {
    scene.refused = { entity: 'ent-a', fate: 'object_refused' };
    const all = [
      scene.send('ent-a', 1, true),
      scene.send('ent-a', 2, true),
      scene.send('ent-a', 3),
      scene.send('ent-b', 1, true),
    ];
    expect(placesOf(await Promise.all(all))).toEqual(['spool', 'spool', 'spool', 'kafka']);
    const tries = () => scene.objects.store.calls.filter((call) => call.startsWith('create')).length;
    await until('it is tried twice more', () => tries() >= 3 + 3, PATIENCE_MS);
    const before = tries();
    await until('it is tried once more', () => tries() > before, PATIENCE_MS);
    expect(tries()).toBe(before + 1);
    expect(scene.claims.trouble).toBeNull();
    expect(refusals()).toEqual([
      'failed: the object store refuses the message (the script says object_refused)',
    ]);
    scene.refused = undefined;
    await scene.drained();
    expect(scene.order('ent-a')).toEqual([1, 2, 3]);
  });

  it('does not keep those of other keys from their order, whatever comes and goes meanwhile', async () => {
    const entities = ['ent-a', 'ent-b', 'ent-c', 'ent-d'];
    const sent = new Map(entities.map((entity) => [entity, 0]));
    const sending: Promise<Receipt>[] = [];
    for (let round = 0; round < 200; round++) {
      scene.refused = {
        entity: entities[Math.floor(round / 20) % 3] as string,
        fate: round % 7 === 0 ? 'unavailable' : 'object_refused',
      };
      scene.isUnavailable = round > 60 && round < 90;
      for (const entity of entities) {
        const n = (sent.get(entity) ?? 0) + 1;
        sent.set(entity, n);
        sending.push(scene.send(entity, n, (n + entity.charCodeAt(4)) % 5 === 0));
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    scene.refused = undefined;
    scene.isUnavailable = false;
    await Promise.all(sending);
    await until('the spool is drained', () => scene.spool.state.rows === 0, 60_000);
    for (const entity of entities)
      expect(scene.order(entity)).toEqual(Array.from({ length: 200 }, (_, n) => n + 1));
  }, 90_000);
});

describe('a store with a spool and a worker for large bodies, while the object store takes nothing', () => {
  beforeEach(async () => {
    await scene.stop();
    await scene.start(scene.largeBodies);
  });

  it('are not worked on for nothing: only the first finds it out', async () => {
    scene.isStoreDown = true;
    await scene.sendLarge('ent-a', 1);
    // Nothing waits in the spool: its trouble alone decides.
    scene.isStoreDown = false;
    await scene.drained();
    expect(scene.claims.trouble).toBeNull();
    scene.claims.noteWrite('unavailable', 0, new HooklineError('BODY_STORE_UNAVAILABLE', 'it is down'));
    const before = scene.tried;
    expect((await scene.sendLarge('ent-b', 1)).stored).toBe('spool');
    expect(scene.asked).toBeGreaterThan(before);
    expect(scene.tried - before).toBe(0);
  });

  it('spools them, and small ones of their keys behind them; others are not held up', async () => {
    scene.isStoreDown = true;
    expect((await scene.sendLarge('ent-a', 1)).stored).toBe('spool');
    expect(
      placesOf([
        await scene.send('ent-a', 2),
        await scene.send('ent-b', 1),
        await scene.sendLarge('ent-b', 2),
      ]),
    ).toEqual(['spool', 'kafka', 'spool']);
    expect((await scene.send('ent-b', 3)).stored).toBe('spool');
    expect((await scene.send('ent-c', 1)).stored).toBe('kafka');
    scene.isStoreDown = false;
    await scene.drained();
    expect([scene.order('ent-a'), scene.order('ent-b'), scene.order('ent-c')]).toEqual([
      [1, 2],
      [1, 2, 3],
      [1],
    ]);
    expect((await scene.sendLarge('ent-a', 3)).stored).toBe('kafka');
  });

  it('spools the one whose object is refused, and sends others to Kafka', async () => {
    scene.refused = { entity: 'ent-a', fate: 'object_refused' };
    expect((await scene.sendLarge('ent-a', 1)).stored).toBe('spool');
    expect(
      placesOf([
        await scene.sendLarge('ent-b', 1),
        await scene.sendLarge('ent-a', 2),
        await scene.send('ent-a', 3),
      ]),
    ).toEqual(['kafka', 'spool', 'spool']);
    await until('it is tried again', () => refusals().length === 1, PATIENCE_MS);
    expect(placesOf([await scene.sendLarge('ent-b', 2), await scene.send('ent-b', 3)])).toEqual([
      'kafka',
      'kafka',
    ]);
    scene.refused = undefined;
    await scene.drained();
    expect([scene.order('ent-a'), scene.order('ent-b')]).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
  });

  it('stores those that waited for the store, but for the one that it refuses', async () => {
    scene.isStoreDown = true;
    for (const entity of ['ent-a', 'ent-b', 'ent-c'])
      expect((await scene.sendLarge(entity, 1)).stored).toBe('spool');
    expect((await scene.send('ent-b', 2)).stored).toBe('spool');
    scene.refused = { entity: 'ent-a', fate: 'object_refused' };
    scene.isStoreDown = false;
    await until(
      'others are stored',
      () => scene.order('ent-b').length === 2 && scene.order('ent-c').length === 1,
      PATIENCE_MS,
    );
    expect(scene.order('ent-a')).toEqual([]);
    scene.refused = undefined;
    await scene.drained();
    expect([scene.order('ent-a'), scene.order('ent-b')]).toEqual([[1], [1, 2]]);
  });
});
