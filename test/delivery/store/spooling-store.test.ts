import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LargeBodyPublisher, Receipt } from '../../../src/core/delivery.ts';
import { HooklineError } from '../../../src/core/errors.ts';
import { identifyDelivery } from '../../../src/delivery/publish-delivery.ts';
import { SpoolingStore } from '../../../src/delivery/store/spooling-store.ts';
import { AttemptError } from '../../../src/kafka/produce/attempt-error.ts';
import type { Publisher } from '../../../src/kafka/produce/publisher.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Spool } from '../../../src/spool/spool.ts';
import { deliveryParts, verified } from '../../support/delivery-parts.ts';
import { ScriptedCluster } from '../../support/scripted-cluster.ts';
import { until } from '../../support/until.ts';

const TOPIC = 'payments.payment-status';

let dir: string;
let cluster: ScriptedCluster;
let spool: Spool;
let publisher: Publisher;
let store: SpoolingStore;
let log: string[];
let isUnavailable: boolean;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'hookline-spool-'));
  cluster = new ScriptedCluster();
  isUnavailable = false;
  cluster.fateOf = () => (isUnavailable ? new AttemptError('unknown', 'cut') : undefined);
  log = [];
  await start();
});
afterEach(async () => {
  await stop();
  rmSync(dir, { recursive: true, force: true });
});

async function start(maxBytes = 64 * 1024 ** 2) {
  spool = await Spool.open({ clock: systemClock, dir, maxBytes, onDeath: () => log.push('death') });
  publisher = cluster.publisher();
  store = new SpoolingStore({
    delivery: deliveryParts(),
    spool,
    publisher,
    publishDeadlineMs: 200,
    clock: systemClock,
    observer: {
      spooling: () => log.push('spooling'),
      holding: () => log.push('holding'),
      drained: (deliveries) => log.push(`drained ${deliveries}`),
      drainFailed: (error) => log.push(`failed: ${(error as Error).message}`),
      drainBroken: (error) => log.push(`broken: ${error}`),
    },
  });
}

/** As a process stops. */
async function stop() {
  await store.stop();
  await publisher.stop();
  await spool.close();
}

const bodyOf = (entity: string, n: number) => `{"type":"payment-status","entityId":"${entity}","n":${n}}`;
const send = (entity: string, n: number) => store.store(verified(bodyOf(entity, n)));
const where = (receipts: readonly Receipt[]) => [...new Set(receipts.map(({ stored }) => stored))];

/** The numbers that an entity's events bear in its partition, each at its first appearance. */
function order(entity: string): number[] {
  const values = [...cluster.log.values()].flat().filter((value) => value.includes(`"${entity}"`));
  return [...new Set(values.map((value) => Number(/"n":(\d+)/.exec(value)?.[1])))];
}
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

describe('a store with a spool', () => {
  it('uses Kafka while it confirms', async () => {
    const receipts = await Promise.all(numbers(50).map((n) => send('a', n)));
    expect(where(receipts)).toEqual(['kafka']);
    expect(order('a')).toEqual(numbers(50));
    expect(log).toEqual([]);
  });

  it('spools what Kafka does not confirm in time, and all that comes after; Kafka gets it in order later', async () => {
    await send('a', 0);
    isUnavailable = true;
    const first = await Promise.all([1, 2, 3].map((n) => send('a', n)));
    expect(where(first)).toEqual(['spool']);
    expect(log).toEqual(['spooling']);
    expect((await send('a', 4)).stored).toBe('spool');
    expect(store.isSpooling).toBe(true);
    isUnavailable = false;
    await until('the spool is drained', () => !store.isSpooling);
    expect((await send('a', 5)).stored).toBe('kafka');
    expect(order('a')).toEqual(numbers(6));
    expect(log).toEqual(['spooling', 'drained 4']);
    expect(spool.state.rows).toBe(0);
  });

  it('diverts younger ones with the one whose time is up, so that they can not overtake it', async () => {
    let reached = () => {};
    const held = new Promise<void>((resolve) => {
      reached = resolve;
    });
    // The first batch is lost on its way; the next would be taken.
    cluster.fateOf = async (_, n) => {
      if (n === 1) {
        await held;
        return new AttemptError('retry', 'NOT_LEADER_OR_FOLLOWER');
      }
      return undefined;
    };
    const old = send('a', 0);
    await until('the first batch is on its way', () => cluster.sends.length === 1);
    const young = send('a', 1);
    expect((await old).stored).toBe('spool');
    reached();
    expect((await young).stored).toBe('spool');
    await until('the spool is drained', () => !store.isSpooling);
    expect(order('a')).toEqual([0, 1]);
  });

  it('gives the event id that the event will have', async () => {
    const { eventId } = await send('a', 1);
    isUnavailable = true;
    expect((await send('a', 1)).eventId).toBe(eventId);
    expect(await store.store(verified('no json'))).toEqual({ eventId: expect.any(String), stored: 'spool' });
    isUnavailable = false;
    await until('the spool is drained', () => !store.isSpooling);
    expect((await store.store(verified('no json'))).stored).toBe('kafka');
    expect([...cluster.log.keys()].filter((key) => key.includes('dead-letter'))).toHaveLength(1);
  });

  it('drains on while a partition is slow to confirm: a round trip carries more than one batch', async () => {
    isUnavailable = true;
    await Promise.all(numbers(1_600).map((n) => send(`e-${n % 40}`, n)));
    let confirm = () => {};
    const held = new Promise<undefined>((resolve) => {
      confirm = () => resolve(undefined);
    });
    isUnavailable = false;
    cluster.fateOf = ({ partition }) => (partition === 0 ? held : undefined);
    const sent = () => [...cluster.log.values()].flat().length;
    // Three partitions of four are free: of one batch of 500 they would get some 375 at most.
    await until('the other partitions have theirs', () => sent() > 900);
    expect(log).not.toContain('drained 1600');
    confirm();
    await until('the spool is drained', () => !store.isSpooling);
    expect(log).toEqual(['spooling', 'drained 1600']);
    for (const n of numbers(40)) {
      expect(order(`e-${n}`)).toEqual(numbers(40).map((round) => n + 40 * round));
    }
  });

  it('goes over to Kafka under steady traffic, every key in order', async () => {
    isUnavailable = true;
    const answers: Promise<Receipt>[] = [];
    let n = 0;
    const timer = setInterval(() => {
      for (const entity of ['a', 'b', 'c']) answers.push(send(entity, n));
      n++;
    }, 1);
    await until('much is spooled', () => spool.state.rows > 1_500);
    // Each batch takes its time, as over a network: meanwhile more has come.
    cluster.fateOf = async () => {
      await sleep(20);
      return undefined;
    };
    await until('Kafka is used again', () => !store.isSpooling);
    const before = n;
    await until('some more is sent', () => n > before + 20);
    clearInterval(timer);
    const receipts = await Promise.all(answers);
    expect(where(receipts.slice(-3))).toEqual(['kafka']);
    for (const entity of ['a', 'b', 'c']) expect(order(entity)).toEqual(numbers(n));
  });

  it('spools what is held during a handover that does not come to its end', async () => {
    isUnavailable = true;
    await send('a', 0);
    const back = Promise.withResolvers<undefined>();
    cluster.fateOf = () => back.promise;
    const held = [1, 2, 3].map((n) => send('a', n));
    expect(where(await Promise.all(held))).toEqual(['spool']);
    back.resolve(undefined);
    await until('the spool is drained', () => !store.isSpooling);
    expect(order('a')).toEqual(numbers(4));
  });

  it('drains after a restart what was left', async () => {
    isUnavailable = true;
    await Promise.all(numbers(20).map((n) => send('a', n)));
    await stop();
    expect(order('a')).toEqual([]);
    isUnavailable = false;
    await start();
    expect(store.isSpooling).toBe(true);
    const later = send('a', 20);
    await until('the spool is drained', () => !store.isSpooling);
    await later;
    expect(order('a')).toEqual(numbers(21));
  });

  it('refuses with SPOOL_FULL when both are of no use, and stores again when there is room', async () => {
    await stop();
    await start(1024 ** 2);
    isUnavailable = true;
    const large = (n: number) => verified(bodyOf('a'.repeat(200_000), n));
    const answers = await Promise.allSettled(numbers(12).map((n) => store.store(large(n))));
    const refused = answers.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(5);
    expect(refused.length).toBeLessThan(answers.length);
    for (const one of refused) expect(one).toMatchObject({ reason: { code: 'SPOOL_FULL' } });
    isUnavailable = false;
    await until('the spool is drained', () => !store.isSpooling);
    expect((await store.store(large(99))).stored).toBe('kafka');
    // A refused one may be there as well: its first attempt can have been on its way when it was refused.
    const stored = new Set(
      [...cluster.log.values()].flat().map((value) => Number(/"n":(\d+)/.exec(value)?.[1])),
    );
    const acked = numbers(answers.length).filter((n) => answers[n]?.status === 'fulfilled');
    expect([...acked, 99].filter((n) => !stored.has(n))).toEqual([]);
  });

  it('drains the topics that take records while one refuses them, with what comes meanwhile; each key in order', async () => {
    isUnavailable = true;
    const other = (n: number) =>
      store.store(verified(`{"type":"collection-status","entityId":"c-${n % 3}","n":${n}}`));
    // More of the refusing topic than may be under way at once.
    await Promise.all(numbers(6_000).map((n) => send(`a-${n % 3}`, n)));
    await Promise.all(numbers(60).map(other));
    cluster.fateOf = ({ topic }) =>
      topic === TOPIC ? new AttemptError('refused', 'TOPIC_AUTHORIZATION_FAILED') : undefined;
    await until('the other topic is drained', () => spool.state.rows === 6_000, 40_000);
    expect((await other(60)).stored).toBe('spool');
    await until('the later one too', () => spool.state.rows === 6_000, 20_000);
    for (const n of numbers(3)) await send(`a-${n}`, 6_000 + n);
    for (const n of numbers(3)) expect(order(`c-${n}`)).toEqual(numbers(61).filter((one) => one % 3 === n));
    expect(store.isSpooling).toBe(true);
    cluster.fateOf = () => undefined;
    await until('the spool is drained', () => !store.isSpooling, 40_000);
    for (const n of numbers(3))
      expect(order(`a-${n}`)).toEqual(numbers(6_003).filter((one) => one % 3 === n));
    expect(spool.state.rows).toBe(0);
    expect((await send('a-0', 6_003)).stored).toBe('kafka');
  }, 120_000);

  it('makes a dead-letter record of stage SPOOL of a row that was changed on the disk, in its bytes as found', async () => {
    isUnavailable = true;
    await Promise.all([1, 2, 3].map((n) => send('a', n)));
    await stop();
    const db = new DatabaseSync(join(dir, 'spool.sqlite'));
    db.exec(`UPDATE deliveries SET body = CAST('${bodyOf('a', 9)}' AS BLOB) WHERE id = 2`);
    db.close();
    isUnavailable = false;
    await start();
    await until('the spool is drained', () => !store.isSpooling);
    expect(order('a').filter((n) => n !== 9)).toEqual([1, 3]);
    const deadLetters = cluster.batches
      .flat()
      .filter(({ headers }) => [...headers].some(([name]) => isStage(name)));
    expect(
      deadLetters.map(({ headers }) => String([...headers].find(([name]) => isStage(name))?.[1])),
    ).toEqual(['SPOOL']);
    expect(String(deadLetters[0]?.value)).toBe(bodyOf('a', 9));
  });

  it.each([
    `media_type = printf('%.*c', 2000000, 'x')`,
    'received_at = 9007199254740991',
    'received_at = -1',
  ])('makes a dead-letter record, and holds nothing up, where a row was changed by %s', async (change) => {
    isUnavailable = true;
    await Promise.all([1, 2, 3].map((n) => send('a', n)));
    await stop();
    const db = new DatabaseSync(join(dir, 'spool.sqlite'));
    db.exec(`UPDATE deliveries SET ${change} WHERE id = 2`);
    db.close();
    isUnavailable = false;
    await start();
    await until('the spool is drained', () => !store.isSpooling);
    expect(order('a').filter((n) => n !== 2)).toEqual([1, 3]);
    const [changed] = cluster.batches
      .flat()
      .filter(({ headers }) => [...headers].some(([name]) => isStage(name)));
    const headers = Object.fromEntries(
      [...(changed?.headers ?? [])].map(([name, value]) => [`${name}`, `${value}`]),
    );
    expect(headers['hookline.media-type']).toBeUndefined();
    expect(new Date(Number(headers['hookline.received-at'])).toISOString()).toMatch(/^\d{4}-/);
  });

  it('waits out a refusal of the brokers with what it has acknowledged', async () => {
    isUnavailable = true;
    await send('a', 0);
    cluster.fateOf = () => new AttemptError('refused', 'TOPIC_AUTHORIZATION_FAILED');
    await until('the brokers have refused', () => cluster.sends.length > 3);
    expect(spool.state.rows).toBe(1);
    cluster.fateOf = () => undefined;
    await until('the spool is drained', () => !store.isSpooling);
    expect(cluster.values(TOPIC, partitionWith('a'))).toHaveLength(1);
  });
});

const isStage = (name: Buffer) => String(name) === '__connect.errors.stage';
const partitionWith = (entity: string) =>
  numbers(4).find((p) => cluster.values(TOPIC, p).some((value) => value.includes(`"${entity}"`))) ?? -1;

describe('a store with a spool and a worker for large bodies', () => {
  const large = { isUnavailable: false, stored: [] as string[], deadlines: [] as number[] };
  const carrier: LargeBodyPublisher = {
    async store(delivery, deadlineMs) {
      large.deadlines.push(deadlineMs());
      const text = delivery.body.toString('latin1', 0, 60);
      if (large.isUnavailable) throw new HooklineError('PUBLISH_DEADLINE');
      // What was stored before it is in the topic by now: so the large one's place is behind it.
      large.stored.push(`${/"n":(\d+)/.exec(text)?.[1]} behind ${order('a')}`);
      return { eventId: 'id', stored: 'kafka' };
    },
    drain: (delivery) => carrier.store(delivery, () => Number.POSITIVE_INFINITY),
    identify: async (delivery) => identifyDelivery(delivery, deliveryParts()),
    aside: (work) => work(),
  };
  const sendLarge = (entity: string, n: number) =>
    store.store(verified(bodyOf(entity, n) + ' '.repeat(2 * 1024 * 1024)));

  beforeEach(async () => {
    Object.assign(large, { isUnavailable: false, stored: [], deadlines: [] });
    await store.stop();
    store = new SpoolingStore({
      delivery: deliveryParts(),
      spool,
      publisher,
      publishDeadlineMs: 200,
      large: carrier,
      clock: systemClock,
      observer: {
        spooling: () => log.push('spooling'),
        holding: () => log.push('holding'),
        drained: (deliveries) => log.push(`drained ${deliveries}`),
        drainFailed: (error) => log.push(`failed: ${(error as Error).message}`),
        drainBroken: (error) => log.push(`broken: ${error}`),
      },
    });
  });

  it('takes them there while Kafka confirms', async () => {
    expect((await sendLarge('a', 1)).stored).toBe('kafka');
    expect([large.stored.length, large.deadlines]).toEqual([1, [200]]);
  });

  it('spools what is not confirmed in time; it is drained between those before and those after it', async () => {
    large.isUnavailable = true;
    isUnavailable = true;
    const receipt = await sendLarge('a', 1);
    expect(receipt.stored).toBe('spool');
    expect(receipt.eventId).toMatch(/^[0-9a-f-]{36}$/);
    expect(log).toContain('spooling');
    expect((await send('a', 2)).stored).toBe('spool');
    // While the spool is in use a large one is no longer tried with Kafka first.
    expect((await sendLarge('a', 3)).stored).toBe('spool');
    expect((await send('a', 4)).stored).toBe('spool');
    expect([order('a'), large.deadlines.filter(Number.isFinite)]).toEqual([[], [200]]);
    isUnavailable = false;
    large.isUnavailable = false;
    await until('the spool is drained', () => !store.isSpooling, 20_000);
    expect(large.stored).toEqual(['1 behind ', '3 behind 2']);
    expect(order('a')).toEqual([2, 4]);
    expect(spool.state.rows).toBe(0);
  });

  it('that kills its thread whenever it is drained is dead-lettered as it came, and holds up nobody', async () => {
    large.isUnavailable = true;
    await sendLarge('a', 1);
    const dying = async () => {
      throw new HooklineError('LARGE_BODY_FAILED');
    };
    carrier.store = dying;
    await until('the spool is drained', () => !store.isSpooling, 20_000);
    expect([...cluster.log.keys()].some((partition) => partition.startsWith('payments.dead-letter'))).toBe(
      true,
    );
    expect(spool.state.rows).toBe(0);
  });
});
