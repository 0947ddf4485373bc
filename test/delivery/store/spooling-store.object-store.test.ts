import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LargeBodyPublisher, Receipt } from '../../../src/core/delivery.ts';
import { HooklineError, hasCode } from '../../../src/core/errors.ts';
import { parseSealingKeys, type SealingKeys } from '../../../src/crypto/sealing.ts';
import { ClaimCheck, objectFirst } from '../../../src/delivery/claim-check.ts';
import { identifyDelivery, publishDelivery } from '../../../src/delivery/publish-delivery.ts';
import { SpoolingStore } from '../../../src/delivery/store/spooling-store.ts';
import { AttemptError } from '../../../src/kafka/produce/attempt-error.ts';
import type { Publisher } from '../../../src/kafka/produce/publisher.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Spool } from '../../../src/spool/spool.ts';
import { deliveryParts, verified } from '../../support/delivery-parts.ts';
import { ScriptedCluster } from '../../support/scripted-cluster.ts';
import { type Fate, scriptedBodies } from '../../support/scripted-object-store.ts';
import { until } from '../../support/until.ts';

/** A machine that does other things too is slow. */
const PATIENCE_MS = 50_000;
vi.setConfig({ testTimeout: 60_000 });

let dir: string;
let cluster: ScriptedCluster;
let objects: ReturnType<typeof scriptedBodies>;
let claims: ClaimCheck;
let spool: Spool;
let publisher: Publisher;
let store: SpoolingStore;
let log: string[];
let sealingKeys: SealingKeys | undefined;
let isUnavailable: boolean;
let isStoreDown: boolean;
/** What the store does not take: the objects of this entity, while it takes all others. */
let refused: { readonly entity: string; readonly fate: Fate } | undefined;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'hookline-spool-'));
  cluster = new ScriptedCluster();
  isUnavailable = false;
  isStoreDown = false;
  refused = undefined;
  sealingKeys = undefined;
  cluster.fateOf = () => (isUnavailable ? new AttemptError('unknown', 'cut') : undefined);
  log = [];
  await start();
});
afterEach(async () => {
  await stop();
  rmSync(dir, { recursive: true, force: true });
});

async function start(large?: LargeBodyPublisher, storeDeadlineMs = 100) {
  objects = scriptedBodies(systemClock, storeDeadlineMs);
  objects.store.fateOf = (_, __, bytes) => {
    if (isStoreDown) return 'unavailable';
    return refused && bytes?.includes(refused.entity) ? refused.fate : undefined;
  };
  claims = new ClaimCheck(objects.bodies, 2_000);
  spool = await Spool.open({
    clock: systemClock,
    ...{ dir, sealingKeys },
    maxBytes: 64 * 1024 ** 2,
    onDeath: () => log.push('death'),
  });
  publisher = cluster.publisher();
  store = new SpoolingStore({
    delivery: deliveryParts({ claims }),
    ...{ spool, publisher, publishDeadlineMs: 200, clock: systemClock },
    ...(large && { large }),
    observer: {
      spooling: () => log.push('spooling'),
      holding: () => log.push('holding'),
      drained: (deliveries) => log.push(`drained ${deliveries}`),
      drainFailed: (error) => log.push(`failed: ${(error as Error).message}`),
    },
  });
}

async function restart(keys: SealingKeys) {
  await stop();
  sealingKeys = keys;
  await start();
}

const keysOf = (...letters: string[]) =>
  parseSealingKeys(Buffer.from(letters.map((one) => one.repeat(32)).join('\n'))) ?? expect.fail('no keys');

/** As a process stops. */
async function stop() {
  await store.stop();
  await publisher.stop();
  await spool.close();
}

/** @param isBig it needs the object store */
const send = (entity: string, n: number, isBig = false) =>
  store.store(
    verified(
      `{"type":"payment-status","entityId":"${entity}","n":${n}${isBig ? `,"padding":"${'x'.repeat(3_000)}"` : ''}}`,
    ),
  );
const where = (receipts: readonly Receipt[]) => receipts.map(({ stored }) => stored);

/** The numbers of an entity's events in their partition, each at its first appearance; those of the objects that records refer to, too. */
function order(entity: string): number[] {
  const values = [...cluster.log.values()].flat().filter((value) => value.includes(entity));
  const messages = values.map((value) => {
    const [, key] = /s3:\/\/events\/([!-~]+?\.json)/.exec(value) ?? [];
    return key === undefined ? value : String(objects.store.objects.get(key));
  });
  return [...new Set(messages.map((message) => Number(/"n":(\d+)/.exec(message)?.[1])))];
}
const drained = () =>
  until('the spool is drained', () => log.some((line) => line.startsWith('drained')), PATIENCE_MS);

describe('a store with a spool, while the object store takes nothing', () => {
  it('spools what needs it and later ones of the key, and sends all others to Kafka', async () => {
    isStoreDown = true;
    expect((await send('ent-a', 1, true)).stored).toBe('spool');
    expect(
      where(
        await Promise.all([send('ent-a', 2), send('ent-b', 1), send('ent-c', 1, true), send('ent-b', 2)]),
      ),
    ).toEqual(['spool', 'kafka', 'spool', 'kafka']);
    expect(log).toEqual(['holding']);
    expect(store.isSpooling).toBe(false);
    isStoreDown = false;
    await drained();
    expect(where([await send('ent-a', 3), await send('ent-c', 2, true)])).toEqual(['kafka', 'kafka']);
    expect([order('ent-a'), order('ent-b'), order('ent-c')]).toEqual([
      [1, 2, 3],
      [1, 2],
      [1, 2],
    ]);
    expect(log).toEqual(['holding', 'drained 3']);
    expect(spool.state.rows).toBe(0);
  });

  it('lets no small one wait for an earlier object of its key longer than for Kafka', async () => {
    await stop();
    await start(undefined, 60_000);
    const held = Promise.withResolvers<undefined>();
    objects.store.fateOf = (call, n) => (call.startsWith('create') && n === 1 ? held.promise : undefined);
    const began = Date.now();
    const first = [send('ent-a', 1, true), send('ent-a', 2)];
    expect((await send('ent-b', 1)).stored).toBe('kafka');
    expect(where(await Promise.all(first))).toEqual(['spool', 'spool']);
    expect(Date.now() - began).toBeLessThan(5_000);
    expect(where([await send('ent-a', 3), await send('ent-a', 4, true)])).toEqual(['spool', 'spool']);
    expect(order('ent-a')).toEqual([]);
    held.resolve(undefined);
    await drained();
    expect(order('ent-a')).toEqual([1, 2, 3, 4]);
    expect(log).toEqual(['holding', 'drained 4']);
  });

  it('keeps the order of keys, whatever comes and goes meanwhile', async () => {
    const entities = ['ent-a', 'ent-b', 'ent-c', 'ent-d'];
    const sent = new Map(entities.map((entity) => [entity, 0]));
    const sending: Promise<Receipt>[] = [];
    for (let round = 0; round < 200; round++) {
      isStoreDown = round % 50 > 20 && round < 160;
      isUnavailable = round > 60 && round < 90;
      for (const entity of entities) {
        const n = (sent.get(entity) ?? 0) + 1;
        sent.set(entity, n);
        sending.push(send(entity, n, (n + entity.charCodeAt(4)) % 5 === 0));
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    isStoreDown = false;
    isUnavailable = false;
    await Promise.all(sending);
    await until('the spool is drained', () => spool.state.rows === 0, PATIENCE_MS);
    for (const entity of entities)
      expect(order(entity)).toEqual(Array.from({ length: 200 }, (_, n) => n + 1));
  });

  it('goes back to Kafka with all others when nothing else is left in the spool', async () => {
    isStoreDown = true;
    isUnavailable = true;
    expect(where(await Promise.all([send('ent-a', 1, true), send('ent-b', 1), send('ent-b', 2)]))).toEqual([
      'spool',
      'spool',
      'spool',
    ]);
    expect(store.isSpooling).toBe(true);
    isUnavailable = false;
    await until('others go to Kafka', () => !store.isSpooling, PATIENCE_MS);
    expect(where([await send('ent-b', 3), await send('ent-a', 2)])).toEqual(['kafka', 'spool']);
    expect(order('ent-b')).toEqual([1, 2, 3]);
    isStoreDown = false;
    await drained();
    expect(order('ent-a')).toEqual([1, 2]);
  });

  it('spools what needs it behind an earlier one of its key that Kafka does not confirm either', async () => {
    isStoreDown = true;
    isUnavailable = true;
    const sending = [send('ent-a', 1), send('ent-a', 2, true), send('ent-a', 3)];
    expect(where(await Promise.all(sending))).toEqual(['spool', 'spool', 'spool']);
    isStoreDown = false;
    isUnavailable = false;
    await drained();
    expect(order('ent-a')).toEqual([1, 2, 3]);
  });

  it('spools what needs it when the earlier one of its key is confirmed', async () => {
    isStoreDown = true;
    const confirmed = Promise.withResolvers<undefined>();
    cluster.fateOf = () => confirmed.promise;
    const first = send('ent-a', 1);
    const second = send('ent-a', 2, true);
    await until('its object is refused', () => log.includes('holding'));
    expect(spool.outstanding).toBe(0);
    confirmed.resolve(undefined);
    expect(where(await Promise.all([first, second]))).toEqual(['kafka', 'spool']);
    isStoreDown = false;
    await drained();
    expect(order('ent-a')).toEqual([1, 2]);
  });

  it('keeps what waits over a restart', async () => {
    isStoreDown = true;
    await Promise.all([send('ent-a', 1, true), send('ent-a', 2), send('ent-b', 1, true)]);
    await stop();
    await start();
    isStoreDown = true;
    expect((await send('ent-a', 3)).stored).toBe('spool');
    await until('others go to Kafka', () => !store.isSpooling, PATIENCE_MS);
    expect((await send('ent-c', 1)).stored).toBe('kafka');
    isStoreDown = false;
    await drained();
    expect([order('ent-a'), order('ent-b')]).toEqual([[1, 2, 3], [1]]);
  });

  it('ends a hold under steady traffic of the same key', async () => {
    isStoreDown = true;
    await send('ent-a', 1, true);
    isStoreDown = false;
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
          sending.push(send('ent-a', ++n).then(over));
        return isOver;
      },
      PATIENCE_MS,
    );
    await Promise.all(sending);
    expect(order('ent-a')).toEqual(Array.from({ length: n }, (_, at) => at + 1));
  });

  it('does not believe one that is full and still takes the object of a check', async () => {
    objects.store.fateOf = (call) => (call.startsWith('create') ? 'unavailable' : undefined);
    const all = ['ent-a', 'ent-b', 'ent-c'].map((entity) => send(entity, 1, true));
    expect(where(await Promise.all(all))).toEqual(['spool', 'spool', 'spool']);
    const checks = () => objects.store.calls.filter((call) => call.startsWith('replace')).length;
    await until('it is checked three times', () => checks() >= 3, PATIENCE_MS);
    // One row was tried after each check, within its deadline of 100 ms.
    expect(objects.written.filter((outcome) => outcome === 'unavailable').length).toBeLessThanOrEqual(6);
    expect(objects.troubles).toEqual([expect.any(String)]);
    objects.store.fateOf = () => undefined;
    await drained();
    expect(objects.troubles).toEqual([expect.any(String), null]);
    expect(log).toEqual(['holding', 'drained 3']);
  });

  it('drains rows whose sealing key comes back, while others wait for the object store', async () => {
    isUnavailable = true;
    await restart(keysOf('a'));
    expect((await send('ent-a', 1)).stored).toBe('spool');
    await restart(keysOf('b'));
    isUnavailable = false;
    isStoreDown = true;
    expect((await send('ent-b', 1, true)).stored).toBe('spool');
    await until('it waits', () => log.includes('holding'), PATIENCE_MS);
    await spool.renewKeys(keysOf('b', 'a'));
    store.wake();
    await until('the other one is stored', () => order('ent-a').length === 1, PATIENCE_MS);
    expect(order('ent-b')).toEqual([]);
    isStoreDown = false;
    await drained();
  });

  it('dead-letters what cannot be opened when the store takes its body', async () => {
    isStoreDown = true;
    const body = Buffer.alloc(5_000, 7);
    expect((await store.store(verified(body))).stored).toBe('spool');
    isStoreDown = false;
    await drained();
    expect([...objects.store.objects.keys()].filter((key) => key.endsWith('.bin'))).toHaveLength(1);
  });
});

const refusals = () => log.filter((line) => line.startsWith('failed'));

describe('an object that the store does not take, while it takes others', () => {
  it.each<Fate>(['object_refused', 'unavailable'])(
    'and is %s holds up later ones of its key alone',
    async (fate) => {
      isStoreDown = true;
      const down = [send('ent-a', 1, true), send('ent-b', 1, true), send('ent-a', 2), send('ent-c', 1, true)];
      expect(where(await Promise.all(down))).toEqual(Array(4).fill('spool'));
      refused = { entity: 'ent-a', fate };
      isStoreDown = false;
      await until(
        'others are stored',
        () => order('ent-b').length + order('ent-c').length === 2,
        PATIENCE_MS,
      );
      await until(
        'their keys go to Kafka again',
        async () => where([await send('ent-b', order('ent-b').length + 1)])[0] === 'kafka',
        PATIENCE_MS,
      );
      expect(where([await send('ent-a', 3), await send('ent-a', 4, true)])).toEqual(['spool', 'spool']);
      expect(order('ent-a')).toEqual([]);
      refused = undefined;
      await drained();
      expect(order('ent-a')).toEqual([1, 2, 3, 4]);
      expect(order('ent-b')).toEqual(Array.from(order('ent-b'), (_, n) => n + 1));
    },
  );

  it('is told, and tried again ever more rarely, with none of those behind it', async () => {
    refused = { entity: 'ent-a', fate: 'object_refused' };
    const all = [send('ent-a', 1, true), send('ent-a', 2, true), send('ent-a', 3), send('ent-b', 1, true)];
    expect(where(await Promise.all(all))).toEqual(['spool', 'spool', 'spool', 'kafka']);
    const tries = () => objects.store.calls.filter((call) => call.startsWith('create')).length;
    await until('it is tried twice more', () => tries() >= 3 + 3, PATIENCE_MS);
    const before = tries();
    await until('it is tried once more', () => tries() > before, PATIENCE_MS);
    expect(tries()).toBe(before + 1);
    expect(claims.trouble).toBeNull();
    expect(refusals()).toEqual([
      'failed: the object store refuses the message (the script says object_refused)',
    ]);
    refused = undefined;
    await drained();
    expect(order('ent-a')).toEqual([1, 2, 3]);
  });

  it('does not keep those of other keys from their order, whatever comes and goes meanwhile', async () => {
    const entities = ['ent-a', 'ent-b', 'ent-c', 'ent-d'];
    const sent = new Map(entities.map((entity) => [entity, 0]));
    const sending: Promise<Receipt>[] = [];
    for (let round = 0; round < 200; round++) {
      refused = {
        entity: entities[Math.floor(round / 20) % 3] as string,
        fate: round % 7 === 0 ? 'unavailable' : 'object_refused',
      };
      isUnavailable = round > 60 && round < 90;
      for (const entity of entities) {
        const n = (sent.get(entity) ?? 0) + 1;
        sent.set(entity, n);
        sending.push(send(entity, n, (n + entity.charCodeAt(4)) % 5 === 0));
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    refused = undefined;
    isUnavailable = false;
    await Promise.all(sending);
    await until('the spool is drained', () => spool.state.rows === 0, 60_000);
    for (const entity of entities)
      expect(order(entity)).toEqual(Array.from({ length: 200 }, (_, n) => n + 1));
  }, 90_000);
});

describe('a store with a spool and a worker for large bodies, while the object store takes nothing', () => {
  /** Bodies that came to the thread, and those that it worked on. */
  let asked = 0;
  let tried = 0;
  const bigText = ' '.repeat(2 * 1024 * 1024);
  const sendLarge = (entity: string, n: number) =>
    store.store(verified(`{"type":"payment-status","entityId":"${entity}","n":${n}}${bigText}`));

  beforeEach(async () => {
    asked = 0;
    tried = 0;
    await stop();
    // As the thread does it, with a client of its own.
    const ports = () => {
      const parts = deliveryParts({ claims });
      const publish = objectFirst(claims, (record) => publisher.publish(record, 1_000));
      return { ...parts, publish };
    };
    await start({
      store: (delivery, deadlineMs) => {
        asked++;
        try {
          deadlineMs();
        } catch (error) {
          return Promise.reject(error);
        }
        tried++;
        return publishDelivery(delivery, ports()).catch((error) => {
          if (hasCode(error, 'BODY_STORE_UNAVAILABLE')) claims.noteWrite('unavailable', 0, error);
          throw error;
        });
      },
      drain: (delivery) => publishDelivery(delivery, ports()),
      identify: async (delivery) => identifyDelivery(delivery, ports()),
      aside: (work) => work(),
    });
  });

  it('are not worked on for nothing: only the first finds it out', async () => {
    isStoreDown = true;
    await sendLarge('ent-a', 1);
    // Nothing waits in the spool: its trouble alone decides.
    isStoreDown = false;
    await drained();
    expect(claims.trouble).toBeNull();
    claims.noteWrite('unavailable', 0, new HooklineError('BODY_STORE_UNAVAILABLE', 'it is down'));
    const before = tried;
    expect((await sendLarge('ent-b', 1)).stored).toBe('spool');
    expect(asked).toBeGreaterThan(before);
    expect(tried - before).toBe(0);
  });

  it('spools them, and small ones of their keys behind them; others are not held up', async () => {
    isStoreDown = true;
    expect((await sendLarge('ent-a', 1)).stored).toBe('spool');
    expect(where([await send('ent-a', 2), await send('ent-b', 1), await sendLarge('ent-b', 2)])).toEqual([
      'spool',
      'kafka',
      'spool',
    ]);
    expect((await send('ent-b', 3)).stored).toBe('spool');
    expect((await send('ent-c', 1)).stored).toBe('kafka');
    isStoreDown = false;
    await drained();
    expect([order('ent-a'), order('ent-b'), order('ent-c')]).toEqual([[1, 2], [1, 2, 3], [1]]);
    expect((await sendLarge('ent-a', 3)).stored).toBe('kafka');
  });

  it('spools the one whose object is refused, and sends others to Kafka', async () => {
    refused = { entity: 'ent-a', fate: 'object_refused' };
    expect((await sendLarge('ent-a', 1)).stored).toBe('spool');
    expect(where([await sendLarge('ent-b', 1), await sendLarge('ent-a', 2), await send('ent-a', 3)])).toEqual(
      ['kafka', 'spool', 'spool'],
    );
    await until('it is tried again', () => refusals().length === 1, PATIENCE_MS);
    expect(where([await sendLarge('ent-b', 2), await send('ent-b', 3)])).toEqual(['kafka', 'kafka']);
    refused = undefined;
    await drained();
    expect([order('ent-a'), order('ent-b')]).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
  });

  it('stores those that waited for the store, but for the one that it refuses', async () => {
    isStoreDown = true;
    for (const entity of ['ent-a', 'ent-b', 'ent-c'])
      expect((await sendLarge(entity, 1)).stored).toBe('spool');
    expect((await send('ent-b', 2)).stored).toBe('spool');
    refused = { entity: 'ent-a', fate: 'object_refused' };
    isStoreDown = false;
    await until(
      'others are stored',
      () => order('ent-b').length === 2 && order('ent-c').length === 1,
      PATIENCE_MS,
    );
    expect(order('ent-a')).toEqual([]);
    refused = undefined;
    await drained();
    expect([order('ent-a'), order('ent-b')]).toEqual([[1], [1, 2]]);
  });
});
