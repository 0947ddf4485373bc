import { describe, expect, it } from 'vitest';
import type { LargeBodyPublisher } from '../../../src/core/delivery.ts';
import { HooklineError, hasCode } from '../../../src/core/errors.ts';
import type { OutgoingRecord } from '../../../src/core/record.ts';
import { ClaimCheck } from '../../../src/delivery/claim-check.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../../src/delivery/dead-letter/dead-letter-headers.ts';
import { type DrainPorts, drainLarge, drainOne } from '../../../src/delivery/store/drain-row.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import type { SpooledDelivery } from '../../../src/spool/spool-row.ts';
import { deliveryParts, headersOf, verified } from '../../support/delivery-parts.ts';
import { scriptedBodies } from '../../support/scripted-object-store.ts';

const MESSAGE = JSON.stringify({ type: 'payment-status', entityId: 'e', padding: 'x'.repeat(3_000) });

/** What a drain needs, over an object store that denies; and the reasons that it gave. */
function denying() {
  const { store, bodies } = scriptedBodies(systemClock, 1_000);
  store.fateOf = () => 'refused';
  const claims = new ClaimCheck(bodies, 2_000);
  const delivery = deliveryParts({ claims });
  const reasons: HooklineError[] = [];
  const ports: DrainPorts = {
    delivery,
    clock: systemClock,
    stopping: new AbortController().signal,
    spool: {
      read: async () => [],
      readable: async () => new Set(),
      remove: async () => {},
      outstanding: 1,
      keyRenewals: 0,
    },
    send: () => expect.fail('nothing is sent'),
    observer: { drainFailed: () => {}, notTaken: (error) => reasons.push(error) },
  };
  return { ports, delivery, reasons };
}

it('says why a row stays in the spool, at each try', async () => {
  const { ports, delivery, reasons } = denying();
  const row = { id: 1, isChanged: false, delivery: verified(MESSAGE) } as const;
  expect(await drainOne(row, ports, delivery)).toBe(false);
  expect(await drainOne(row, ports, delivery)).toBe(false);
  expect(reasons.map((error) => [error.code, error.detail])).toEqual([
    ['BODY_STORE_REFUSED', 'the script says refused'],
    ['BODY_STORE_REFUSED', 'the script says refused'],
  ]);
});

it('says the same of a row for a thread of its own', async () => {
  const { ports, reasons } = denying();
  const row = { id: 1, isChanged: false, delivery: verified(MESSAGE) } as const;
  const refusal = await drainLarge(row, ports, {
    store: () => expect.fail('it is drained'),
    identify: () => expect.fail('it is drained'),
    aside: (work) => work(),
    drain: () => Promise.reject(new HooklineError('BODY_STORE_REFUSED', 'denied')),
  });
  expect([refusal?.code, reasons.map(({ detail }) => detail)]).toEqual(['BODY_STORE_REFUSED', ['denied']]);
});

/** Rows are published to Kafka, and large ones by a thread that fails; each record is answered by `publish`. */
function draining(publish: (record: OutgoingRecord, n: number) => void = () => {}, thread = 'INTERNAL') {
  const delivery = deliveryParts({ publish });
  const failures: unknown[] = [];
  let tries = 0;
  const large: LargeBodyPublisher = {
    store: () => expect.fail('it is drained'),
    identify: () => expect.fail('it is drained'),
    aside: (work) => work(),
    async drain() {
      tries++;
      throw new HooklineError(thread as 'INTERNAL');
    },
  };
  const ports: DrainPorts = {
    ...denying().ports,
    delivery,
    send: delivery.publish,
    clock: { ...systemClock, sleep: async () => {} },
    observer: { drainFailed: (error) => failures.push(error) },
  };
  const drain = (row: SpooledDelivery) => drainOne(row, ports, delivery);
  const drainIt = () => drainLarge({ id: 1, isChanged: false, delivery: verified(MESSAGE) }, ports, large);
  return { drain, drainIt, records: delivery.seen.records, failures, tries: () => tries };
}

describe('a row that cannot become an event', () => {
  it('becomes a dead-letter record where the reason was not foreseen', async () => {
    const { drain, records, failures } = draining(({ topic }) => {
      if (topic !== 'payments.dead-letter') throw new TypeError('a defect');
    });
    expect(await drain({ id: 1, isChanged: false, delivery: verified(MESSAGE) })).toBe(true);
    expect(records.map(headersOf)).toMatchObject([{ [NAMES.code]: 'UNENCODABLE', [NAMES.stage]: 'ENCODE' }]);
    expect(failures.map(String)).toEqual(['TypeError: a defect']);
  });

  it('is tried again where the brokers do not take it', async () => {
    const { drain, records, failures } = draining((_, n) => {
      if (n === 1) throw new HooklineError('PUBLISH_DEADLINE');
    });
    expect(await drain({ id: 1, isChanged: false, delivery: verified(MESSAGE) })).toBe(true);
    expect(records.map(({ topic }) => topic)).toEqual(['payments.payment-status']);
    expect(failures).toHaveLength(1);
  });

  it('as it was changed on the volume, becomes a dead-letter record, whatever its columns hold', async () => {
    const { drain, records } = draining();
    const columns = {
      ref: 'r'.repeat(5_000),
      subscriptionId: 's'.repeat(5_000),
      mediaType: 'm'.repeat(5_000) as 'json',
      receivedAt: -5,
      traceparent: 't',
      body: Buffer.from('body'),
    };
    await drain({ id: 1, isChanged: true, delivery: columns });
    await drain({ id: 2, isChanged: true, delivery: { ...columns, mediaType: 'json', receivedAt: 1e300 } });
    expect(records.map(headersOf)).toMatchObject([
      {
        [NAMES.code]: 'SPOOL_ROW_CHANGED',
        [NAMES.stage]: 'SPOOL',
        [NAMES.ref]: 'r'.repeat(100),
        [NAMES.subscriptionId]: 's'.repeat(100),
        [NAMES.receivedAt]: '0',
      },
      { [NAMES.receivedAt]: `${Date.UTC(9999, 11, 31, 23, 59, 59, 999)}` },
    ]);
    // Hookline 0.1.0, after a rollback, redrives what has one.
    expect(records.map((record) => headersOf(record)[NAMES.mediaType])).toEqual([undefined, undefined]);
    expect(records.map(({ value }) => `${value}`)).toEqual(['body', 'body']);
  });
});

describe('a large row that ends its thread', () => {
  it('is tried once more, and then becomes a dead-letter record', async () => {
    const { drainIt, records, tries } = draining(() => {}, 'LARGE_BODY_FAILED');
    expect(await drainIt()).toBeNull();
    expect(tries()).toBe(2);
    expect(records.map(headersOf)).toMatchObject([{ [NAMES.code]: 'UNENCODABLE' }]);
  });

  it('becomes one at once where its error was not foreseen', async () => {
    const { drainIt, records, tries } = draining();
    expect(await drainIt()).toBeNull();
    expect([tries(), records.length]).toEqual([1, 1]);
  });

  it('is not stored before the brokers have taken that record', async () => {
    const { drainIt, records, failures } = draining((_, n) => {
      if (n < 3) throw new HooklineError('PUBLISH_DEADLINE');
    });
    expect(await drainIt()).toBeNull();
    expect(records).toHaveLength(1);
    expect(failures.filter((error) => hasCode(error, 'PUBLISH_DEADLINE'))).toHaveLength(2);
  });
});
