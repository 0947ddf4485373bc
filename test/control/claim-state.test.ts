import fc from 'fast-check';
import { expect, it } from 'vitest';
import { claimState } from '../../src/control/claim-state.ts';
import type { Lease } from '../../src/core/lease.ts';
import { leaseOf } from '../../src/core/lease.ts';
import { CLAIM_HEADER, EPOCH_HEADER, EPOCH_KEY, StateFence } from '../../src/subscriptions/state-fence.ts';
import type { SubscriptionRecord } from '../../src/subscriptions/subscription-record.ts';

const PARTITIONS = [0, 1, 2];
const REFS = ['a', 'b', 'c', 'd', 'e', 'f'];
const partitionOf = (ref: string) => REFS.indexOf(ref) % PARTITIONS.length;
/** Reading, restoring and claiming end within so many turns of the event loop: nothing here waits for time. */
const settle = async () => {
  for (let n = 0; n < 24; n++) await new Promise(setImmediate);
};

type Entry = { offset: number; key: string; value: string | null; headers: Record<string, string> };

/** A compacted topic of three partitions. */
class Log {
  readonly partitions: Entry[][] = PARTITIONS.map(() => []);
  #offset = 0;
  append(partition: number, key: string, value: string | null, headers: Record<string, string>): void {
    this.partitions[partition]?.push({ offset: this.#offset++, key, value, headers });
  }
  /** The records before this offset: what is behind is the active segment. */
  compact(before = this.end): void {
    for (const [n, entries] of this.partitions.entries()) {
      const old = entries.filter(({ offset }) => offset < before);
      const latest = new Map(old.map(({ key, offset }) => [key, offset]));
      this.partitions[n] = entries.filter(
        ({ key, offset }) => offset >= before || latest.get(key) === offset,
      );
    }
  }
  get end(): number {
    return this.#offset;
  }
  /** Another topic of the same name. */
  empty(): void {
    for (const entries of this.partitions) entries.splice(0);
  }
}

const recordOf = (ref: string, value: string) => ({ ref, commandId: value }) as SubscriptionRecord;

/** A control process: its table, its claim, and what it believes the state to be once it works. */
function openProcess(log: Log, name: string) {
  const fence = new StateFence();
  const table = new Map<string, SubscriptionRecord>();
  const positions = PARTITIONS.map(() => 0);
  let onFenced = (_ref: string) => {};
  let claims = 0;
  const stuck: (() => void)[] = [];
  let lease = new AbortController();
  const process = {
    stuckClaims: 0,
    storedClaims: 0,
    /** Awaited before each of its claims is written. */
    beforeClaim: undefined as (() => Promise<void>) | undefined,
    /** Called once, when a claim is in all partitions. */
    afterClaim: undefined as (() => void) | undefined,
    /** The brokers take no state record: whoever writes one waits until his lease ends. */
    isHeldUp: false,
    refuses: undefined as Error | undefined,
    failures: [] as unknown[],
    missing: [] as number[],
    dropped: [] as number[],
    stuck,
    model: new Map<string, string>(),
    epoch: 0,
    claim,
    table,
    read,
    write,
    working: (isWorking: boolean) => {
      lease.abort();
      lease = new AbortController();
      state.working(isWorking ? leaseOf(lease.signal) : null);
    },
    acquire: (lease: Lease) => state.acquire(lease),
    rewind() {
      for (const partition of PARTITIONS) {
        positions[partition] = 0;
        fence.rewind(partition);
        onFenced(EPOCH_KEY);
      }
    },
  };
  function read(): void {
    for (const partition of PARTITIONS) {
      for (const { offset, key, value, headers } of log.partitions[partition] ?? []) {
        if (offset < (positions[partition] ?? 0)) continue;
        positions[partition] = offset + 1;
        const highest = fence.highest();
        const verdict = fence.check({ partition, key: Buffer.from(key), headers });
        if (verdict === 'counts') {
          if (value === null) table.delete(key);
          else table.set(key, recordOf(key, value));
        }
        if (verdict === 'fenced' || (key === EPOCH_KEY && fence.lateClaims.has(partition))) onFenced(key);
        else if (fence.highest() > highest) onFenced(EPOCH_KEY);
      }
    }
  }
  const state = claimState({
    table: {
      get: (ref) => table.get(ref),
      async caughtUp() {
        await new Promise(setImmediate);
        read();
      },
      partitions: async () => PARTITIONS,
      fence,
      onFenced: (listener) => {
        onFenced = listener;
      },
      dropMissing() {
        const dropped = fence.missing().filter((ref) => table.delete(ref));
        fence.dropMissing();
        return dropped.length;
      },
    },
    records: {
      async storeClaim(partition, { epoch, claim: id }) {
        // Whoever repeats his claim without end is stopped, so that the test ends.
        if (++process.storedClaims > 100) await new Promise(() => {});
        await process.beforeClaim?.();
        const headers = { [EPOCH_HEADER]: String(epoch), [CLAIM_HEADER]: id };
        const append = () => log.append(partition, EPOCH_KEY, String(epoch), headers);
        if ((process.stuckClaims & (1 << partition)) === 0) {
          append();
          if (partition !== PARTITIONS.at(-1)) return;
          process.afterClaim?.();
          process.afterClaim = undefined;
          return;
        }
        stuck.push(append);
        await new Promise(() => {});
      },
      async restoreSubscription(ref, give, lease) {
        const { epoch, signal } = lease;
        const record = await give();
        if (record === undefined) return;
        if (process.refuses) throw process.refuses;
        while (process.isHeldUp) {
          await new Promise(setImmediate);
          signal.throwIfAborted();
        }
        lease.check();
        log.append(partitionOf(ref), ref, record?.commandId ?? null, { [EPOCH_HEADER]: String(epoch) });
      },
    },
    newId: () => `${name}-${claims++}`,
    onClaimed: () => {},
    onFenced: () => {},
    onMissing: (count) => process.missing.push(count),
    onDropped: (count) => process.dropped.push(count),
    onFailure: (error) => {
      if (process.refuses === undefined) expect.fail(String(error));
      process.failures.push(error);
    },
  });
  async function claim(): Promise<void> {
    void state.acquire(leaseOf(new AbortController().signal)).then(({ epoch }) => {
      process.epoch = epoch;
      process.model = new Map([...table].map(([ref, { commandId }]) => [ref, commandId as string]));
    });
    await settle();
  }
  /** A frozen process writes when it is thawed; a running one now. */
  function write(ref: string, value: string | null, isFrozen: boolean): void {
    const { epoch, model } = process;
    const append = () => log.append(partitionOf(ref), ref, value, { [EPOCH_HEADER]: String(epoch) });
    if (isFrozen) return void stuck.push(append);
    append();
    if (value === null) model.delete(ref);
    else model.set(ref, value);
  }
  return process;
}

type Step =
  | { do: 'write' | 'forget' | 'freeze'; ref: string }
  | { do: 'claim and freeze'; which: number }
  | { do: 'thaw'; which: number }
  | { do: 'take over' }
  | { do: 'compact' };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ do: fc.constant('write' as const), ref: fc.constantFrom(...REFS) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('forget' as const), ref: fc.constantFrom(...REFS) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constant('freeze' as const), ref: fc.constantFrom(...REFS) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('claim and freeze' as const),
        which: fc.integer({ min: 1, max: 7 }),
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('take over' as const) }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('thaw' as const), which: fc.nat(20) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('compact' as const) }) },
  ),
  { minLength: 10, maxLength: 40 },
);

/** Carries the steps out; at the end every frozen write lands. Gives the log and the process that works last. */
async function play(list: readonly Step[]) {
  const log = new Log();
  const late: (() => void)[] = [];
  let count = 0;
  const start = async (stuckClaims = 0) => {
    const next = openProcess(log, `p${count++}`);
    next.stuckClaims = stuckClaims;
    await next.claim();
    return next;
  };
  let current = await start();
  const replace = async (stuckClaims = 0) => {
    late.push(...current.stuck.splice(0));
    current = await start(stuckClaims);
  };
  let isFrozen = false;
  for (const step of list) {
    const value = `v${count}-${late.length}-${Math.random()}`;
    if (step.do === 'thaw') late.splice(step.which % Math.max(1, late.length), 1)[0]?.();
    // Behind a record that does not count yet compaction leaves the older one: min.compaction.lag.ms.
    else if (step.do === 'compact') {
      if (!isFrozen) log.compact();
    } else if (step.do === 'take over') {
      await replace();
      isFrozen = false;
    } else if (step.do === 'claim and freeze') {
      await replace(step.which);
      isFrozen = true;
    } else if (!isFrozen) {
      current.write(step.ref, step.do === 'forget' ? null : value, step.do === 'freeze');
      isFrozen = step.do === 'freeze';
    }
    if (!isFrozen) current.read();
    await settle();
  }
  await replace();
  for (const land of late.splice(0)) {
    land();
    current.read();
    await settle();
  }
  return { log, current };
}

const stateOf = (log: Log) => {
  const fresh = openProcess(log, 'reader');
  fresh.read();
  return Object.fromEntries([...fresh.table].map(([ref, { commandId }]) => [ref, commandId]));
};

it('whatever is frozen, thawed and compacted, the state is the last process’s, for every reader', async () => {
  const property = fc.asyncProperty(steps, async (list) => {
    const { log, current } = await play(list);
    const expected = Object.fromEntries(current.model);
    expect(stateOf(log)).toEqual(expected);
    log.compact();
    expect(stateOf(log)).toEqual(expected);
  });
  await fc.assert(property, { numRuns: 1_000 });
}, 60_000);

it('of two processes that claim the same epoch one has it, and the other a higher one', async () => {
  const log = new Log();
  const one = openProcess(log, 'one');
  const two = openProcess(log, 'two');
  await Promise.all([one.claim(), two.claim()]);
  expect(new Set([one.epoch, two.epoch]).size).toBe(2);
  expect(Math.min(one.epoch, two.epoch)).toBeGreaterThan(0);
});

it('a process that another has come after holds nothing any more, and what it began has to begin anew', async () => {
  const log = new Log();
  const one = openProcess(log, 'one');
  const two = openProcess(log, 'two');
  await one.claim();
  await two.claim();
  expect([one.epoch, two.epoch]).toEqual([1, 2]);
  one.write('a', 'late', false);
  two.read();
  await settle();
  expect(stateOf(log)).toEqual({});
  log.compact();
  expect(stateOf(log)).toEqual({});
});

/** A frozen process's record of `a` lands behind what its successor wrote; the next one finds it when it starts. */
async function withLateRecord() {
  const log = new Log();
  const frozen = openProcess(log, 'frozen');
  const successor = openProcess(log, 'successor');
  await frozen.claim();
  await successor.claim();
  successor.write('a', 'right', false);
  frozen.write('a', 'late', false);
  return { log, next: openProcess(log, 'next') };
}

it('what a claim could not restore in its lease is restored when the process works again', async () => {
  const { log, next } = await withLateRecord();
  next.isHeldUp = true;
  next.working(true);
  await settle();
  next.working(false);
  next.isHeldUp = false;
  next.working(true);
  await settle();
  expect(stateOf(log)).toEqual({ a: 'right' });
  log.compact();
  expect(stateOf(log)).toEqual({ a: 'right' });
});

it('what the lease of one command was too short to restore is restored under the next one’s', async () => {
  const { log, next } = await withLateRecord();
  next.isHeldUp = true;
  const partition = new AbortController();
  const first = next.acquire(leaseOf(partition.signal)).catch(() => {});
  await settle();
  partition.abort();
  await first;
  next.isHeldUp = false;
  void next.acquire(leaseOf(new AbortController().signal));
  await settle();
  log.compact();
  expect(stateOf(log)).toEqual({ a: 'right' });
});

it('a late record that came while the process stood by does not outlive what counts', async () => {
  const log = new Log();
  const frozen = openProcess(log, 'frozen');
  const next = openProcess(log, 'next');
  await frozen.claim();
  next.working(true);
  await settle();
  next.read();
  log.append(partitionOf('a'), 'a', 'right', { [EPOCH_HEADER]: '2' });
  next.working(false);
  frozen.write('a', 'late', false);
  next.read();
  next.working(true);
  await settle();
  log.compact();
  expect(stateOf(log)).toEqual({ a: 'right' });
});

it('a lower claim that came late does not outlive the one that counts: no epoch is claimed twice', async () => {
  const log = new Log();
  const first = openProcess(log, 'first');
  const frozen = openProcess(log, 'frozen');
  const next = openProcess(log, 'next');
  const last = openProcess(log, 'last');
  first.stuckClaims = 0b110;
  await first.claim();
  frozen.stuckClaims = 0b011;
  await frozen.claim();
  next.working(true);
  await settle();
  for (const land of [...first.stuck, ...frozen.stuck]) {
    land();
    next.read();
    await settle();
  }
  log.compact();
  await last.claim();
  expect([frozen.epoch, last.epoch]).toEqual([0, 4]);
});

it('an equal claim that came late does not outlive the one that counts: its process does not take it for the first', async () => {
  const log = new Log();
  const frozen = openProcess(log, 'frozen');
  const next = openProcess(log, 'next');
  frozen.stuckClaims = 0b111;
  const held = frozen.claim();
  next.working(true);
  await settle();
  for (const land of frozen.stuck) land();
  next.read();
  await settle();
  log.compact();
  await held;
  expect(log.partitions.flat().map(({ headers }) => headers[CLAIM_HEADER])).toEqual(Array(3).fill('next-0'));
});

it('a process that reads the topic again from its beginning claims anew, and once, where compaction has left another’s claim first', async () => {
  const log = new Log();
  const frozen = openProcess(log, 'frozen');
  const next = openProcess(log, 'next');
  frozen.stuckClaims = 0b111;
  void frozen.claim();
  next.working(true);
  await settle();
  for (const land of frozen.stuck) land();
  const { end } = log;
  next.read();
  await settle();
  log.compact(end);
  const before = next.storedClaims;
  next.rewind();
  for (let n = 0; n < 10; n++) {
    next.read();
    await settle();
  }
  expect(next.storedClaims - before).toBe(PARTITIONS.length);
  const { epoch } = await next.acquire(leaseOf(new AbortController().signal));
  expect([epoch, frozen.epoch]).toEqual([2, 0]);
});

it('when the topic was made anew, of two processes only the last to claim holds an epoch', async () => {
  const log = new Log();
  const one = openProcess(log, 'one');
  const two = openProcess(log, 'two');
  one.working(true);
  await settle();
  const before = await one.acquire(leaseOf(new AbortController().signal));
  log.empty();
  two.working(true);
  const held = await two.acquire(leaseOf(new AbortController().signal));
  one.rewind();
  expect(() => before.check()).toThrow('epoch 1');
  await settle();
  const again = await one.acquire(leaseOf(new AbortController().signal));
  two.read();
  expect(() => held.check()).toThrow('epoch 1');
  again.check();
  expect([held.epoch, again.epoch]).toEqual([1, 2]);
});

it('a claim does not count that is the first only as the topic was read again since', async () => {
  const log = new Log();
  const one = openProcess(log, 'one');
  const two = openProcess(log, 'two');
  let isSecond: Promise<void> | undefined;
  one.beforeClaim = () => {
    if (!isSecond) two.working(true);
    isSecond ??= settle();
    return isSecond;
  };
  one.afterClaim = () => {
    log.compact();
    one.rewind();
  };
  const { epoch } = await one.acquire(leaseOf(new AbortController().signal));
  expect(epoch).toBe(2);
});

it('what is late is restored also where the topic is read again meanwhile', async () => {
  const { log, next } = await withLateRecord();
  next.isHeldUp = true;
  next.working(true);
  await settle();
  next.rewind();
  next.isHeldUp = false;
  await settle();
  next.read();
  await settle();
  log.compact();
  expect(stateOf(log)).toEqual({ a: 'right' });
});

it('a process that works again claims anew: what it, or another, had under way comes too late', async () => {
  const log = new Log();
  const one = openProcess(log, 'one');
  const acquire = () => one.acquire(leaseOf(new AbortController().signal));
  one.working(true);
  const before = await acquire();
  one.working(false);
  one.working(true);
  const after = await acquire();
  expect(() => before.check()).toThrow('epoch 1');
  log.append(partitionOf('a'), 'a', 'newer', { [EPOCH_HEADER]: `${after.epoch}` });
  log.append(partitionOf('a'), 'a', 'older', { [EPOCH_HEADER]: `${before.epoch}` });
  expect(stateOf(log)).toEqual({ a: 'newer' });
});

it('a claim of a topic that was deleted, which comes into the new one, does not leave it without a process that holds it', async () => {
  const log = new Log();
  const one = openProcess(log, 'one');
  one.working(true);
  await one.acquire(leaseOf(new AbortController().signal));
  for (const partition of PARTITIONS.slice(0, 2))
    log.append(partition, EPOCH_KEY, '7', { [EPOCH_HEADER]: '7', [CLAIM_HEADER]: 'frozen' });
  one.read();
  await settle();
  const { epoch } = await one.acquire(leaseOf(new AbortController().signal));
  expect([epoch, one.storedClaims]).toEqual([8, 2 * PARTITIONS.length]);
  one.working(false);
  log.append(0, EPOCH_KEY, '9', { [EPOCH_HEADER]: '9', [CLAIM_HEADER]: 'another' });
  one.read();
  await settle();
  expect(one.storedClaims).toBe(2 * PARTITIONS.length);
});

it('two processes that both believe to work do not answer each other’s claims without end', async () => {
  const log = new Log();
  const both = [openProcess(log, 'one'), openProcess(log, 'two')];
  const claims = () => both.reduce((sum, { storedClaims }) => sum + storedClaims, 0);
  const go = async () => {
    for (let n = 0; n < 10; n++) {
      for (const process of both) process.read();
      await settle();
    }
  };
  for (const process of both) process.working(true);
  await go();
  const before = claims();
  await go();
  expect(claims()).toBe(before);
  const { epoch } = await (both[0] as (typeof both)[0]).acquire(leaseOf(new AbortController().signal));
  expect(epoch).toBeGreaterThan(0);
});

it('an epoch behind which none can be claimed is an error, and not a claim again and again', async () => {
  const log = new Log();
  log.append(0, 'a', 'forged', { [EPOCH_HEADER]: '999999999999999' });
  const one = openProcess(log, 'one');
  const ends = new AbortController();
  const held = one.acquire(leaseOf(ends.signal));
  const failed = expect(held).rejects.toThrow('epoch 999999999999999 is the last one');
  await settle();
  ends.abort();
  await failed;
  expect(log.partitions.flat()).toHaveLength(1);
});

it('a restore that no broker takes is told, and holds up no command', async () => {
  const { next } = await withLateRecord();
  next.refuses = new Error('too large');
  await expect(next.acquire(leaseOf(new AbortController().signal))).resolves.toMatchObject({ epoch: 3 });
  expect(next.failures).toEqual([next.refuses]);
});

it('what a topic lacks that was made anew is written there again by the process that works', async () => {
  const log = new Log();
  const one = openProcess(log, 'one');
  const standby = openProcess(log, 'standby');
  one.working(true);
  await settle();
  one.epoch = 1;
  for (const ref of REFS) one.write(ref, `of ${ref}`, false);
  for (const value of ['v', null]) log.append(partitionOf('b'), 'b', value, { [EPOCH_HEADER]: '1' });
  for (const each of [one, standby]) each.read();
  const before = stateOf(log);
  expect(Object.keys(before)).toEqual(['a', 'd', 'e', 'c', 'f']);
  log.empty();
  for (const each of [standby, one]) each.rewind();
  await settle();
  expect(stateOf(log)).toEqual(before);
  expect([one.missing, standby.missing]).toEqual([[5], []]);
  // Whoever takes over finds nothing missing.
  standby.working(true);
  await settle();
  expect([standby.missing, stateOf(log)]).toEqual([[], before]);
});

it('what another topic lacks is restored by the process that takes over, where none worked, and not over what it has', async () => {
  const log = new Log();
  const one = openProcess(log, 'one');
  const standby = openProcess(log, 'standby');
  await one.claim();
  for (const ref of ['a', 'b']) one.write(ref, 'before', false);
  standby.read();
  log.empty();
  log.append(partitionOf('b'), 'b', 'restored from a copy', {});
  standby.rewind();
  standby.working(true);
  await settle();
  expect(stateOf(log)).toEqual({ a: 'before', b: 'restored from a copy' });
});

it('what another topic lacks is dropped by a process that takes over, where another has worked there', async () => {
  const log = new Log();
  const one = openProcess(log, 'one');
  const standby = openProcess(log, 'standby');
  one.working(true);
  await settle();
  one.epoch = 1;
  one.write('a', 'ACTIVE', false);
  for (const each of [one, standby]) each.read();
  log.empty();
  one.working(false);
  standby.rewind();
  // It knows nothing: a command to delete the subscription finds none.
  const fresh = openProcess(log, 'fresh');
  fresh.working(true);
  await settle();
  fresh.working(false);
  standby.working(true);
  await settle();
  expect([stateOf(log), standby.table.has('a'), standby.missing, standby.dropped]).toEqual([
    {},
    false,
    [],
    [1],
  ]);
});

it('what another topic lacks is written by the process that works, though a late claim of another has landed there', async () => {
  const log = new Log();
  const frozen = openProcess(log, 'frozen');
  const one = openProcess(log, 'one');
  frozen.stuckClaims = 0b111;
  void frozen.claim();
  one.working(true);
  await settle();
  one.epoch = 1;
  one.write('a', 'right', false);
  one.read();
  log.empty();
  for (const land of frozen.stuck) land();
  one.rewind();
  await settle();
  expect([stateOf(log), one.dropped]).toEqual([{ a: 'right' }, []]);
});

it('a late record of the earlier topic does not count in the one that was made anew', async () => {
  const log = new Log();
  const frozen = openProcess(log, 'frozen');
  const one = openProcess(log, 'one');
  await frozen.claim();
  one.working(true);
  await settle();
  one.epoch = 2;
  one.write('a', 'RETIRED', false);
  one.read();
  frozen.write('a', 'ACTIVE', true);
  log.empty();
  one.rewind();
  await settle();
  for (const land of frozen.stuck) land();
  one.read();
  await settle();
  log.compact();
  expect([stateOf(log), one.table.get('a')?.commandId]).toEqual([{ a: 'RETIRED' }, 'RETIRED']);
});

it('what another topic lacks, and did not take, is written with the next command', async () => {
  const log = new Log();
  const one = openProcess(log, 'one');
  one.working(true);
  await settle();
  one.epoch = 1;
  for (const ref of REFS) one.write(ref, `of ${ref}`, false);
  one.read();
  const before = stateOf(log);
  log.empty();
  one.refuses = new Error('too large');
  one.rewind();
  await settle();
  expect(one.failures).toHaveLength(REFS.length);
  // It holds up no command.
  await one.acquire(leaseOf(new AbortController().signal));
  expect([stateOf(log), one.failures.length]).toEqual([{}, 2 * REFS.length]);
  one.refuses = undefined;
  await one.acquire(leaseOf(new AbortController().signal));
  expect(stateOf(log)).toEqual(before);
});

it('a topic that is read again and has everything gets nothing', async () => {
  const log = new Log();
  const one = openProcess(log, 'one');
  one.working(true);
  await settle();
  one.epoch = 1;
  for (const ref of REFS) one.write(ref, `of ${ref}`, false);
  one.read();
  one.rewind();
  await settle();
  expect([one.missing, Object.keys(stateOf(log)).length]).toEqual([[], REFS.length]);
  expect(log.partitions.flat().filter(({ key }) => key === 'a')).toHaveLength(1);
});
