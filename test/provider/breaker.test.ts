import { describe, expect, it } from 'vitest';
import { HooklineError } from '../../src/core/errors.ts';
import { leaseOf } from '../../src/core/lease.ts';
import { createBreaker } from '../../src/provider/breaker.ts';
import type { Outcome, ProviderRequest } from '../../src/provider/call-provider.ts';
import { type Clock, systemClock } from '../../src/runtime/clock.ts';
import { manualClock } from '../support/manual-clock.ts';
import { until } from '../support/until.ts';

const outcome = (judgement: Outcome['judgement']): Outcome => ({
  judgement,
  status: null,
  body: undefined,
  why: `it is ${judgement}`,
  retryAfterMs: null,
});
const CHANGE = { method: 'PUT', path: '/subscription/x', body: {} } as const;
const patience = (leftMs: number, signal = new AbortController().signal) => ({
  ...CHANGE,
  patience: { leftMs, lease: leaseOf(signal) },
});

/** A breaker before a service that is unavailable until told otherwise. */
function open({ clock = systemClock as Clock, probeAfterMs = [20] } = {}) {
  const service: {
    end: Outcome | Error;
    /** What the list is answered, where that is something else. */
    list?: Outcome | Promise<Outcome> | undefined;
    asked: string[];
    patience: (number | undefined)[];
    changes: (string | null)[];
  } = {
    end: outcome('unknown'),
    asked: [],
    patience: [],
    changes: [],
  };
  const breaker = createBreaker({
    call: async ({ method, patience: given }: ProviderRequest) => {
      service.asked.push(method);
      if (method !== 'GET') service.patience.push(given?.leftMs);
      if (method === 'GET' && service.list) return service.list;
      if (service.end instanceof Error) throw service.end;
      return service.end;
    },
    onChange: (why) => service.changes.push(why),
    clock,
    probeAfterMs,
  });
  const fail = async (times = 5) => {
    for (let n = 0; n < times; n++) await breaker.call(CHANGE).catch(() => {});
    // What a probe finds out is known a moment later.
    await new Promise(setImmediate);
  };
  return { service, breaker, fail };
}

describe('the breaker', () => {
  it('opens after five calls one after the other that came to nothing, and is looked behind until the service is back', async () => {
    const { service, breaker, fail } = open();
    await fail(4);
    expect(service.changes).toEqual([]);
    await fail(1);
    expect(service.changes).toEqual(['it is unknown']);
    await until('it was looked', () => service.asked.filter((method) => method === 'GET').length > 2);
    service.end = outcome('done');
    await until('it is closed', () => service.changes.length === 2);
    expect(service.changes).toEqual(['it is unknown', null]);
    expect(await breaker.call(CHANGE)).toMatchObject({ judgement: 'done' });
    await breaker.stop();
  });

  it.each(['done', 'gone', 'refused', 'later', 'unauthorised'] as const)(
    'takes %s for an answer: it stays closed, and the count begins anew',
    async (judgement) => {
      const { service, breaker, fail } = open();
      await fail(4);
      service.end = outcome(judgement);
      await fail(1);
      service.end = outcome('unknown');
      await fail(4);
      expect(service.changes).toEqual([]);
      await breaker.stop();
    },
  );

  it('stays closed where a provider fails at some calls alone: one team holds up no other one', async () => {
    const { service, breaker, fail } = open();
    service.list = outcome('done');
    await fail(40);
    expect(service.changes).toEqual([]);
    expect(service.asked.filter((method) => method === 'PUT')).toHaveLength(40);
    expect(service.asked.filter((method) => method === 'GET')).toHaveLength(8);
    service.list = undefined;
    await fail();
    expect(service.changes).toEqual(['it is unknown']);
    await breaker.stop();
  });

  it('stays closed where the provider has answered others while it was looked', async () => {
    const { service, breaker, fail } = open();
    const probe = Promise.withResolvers<Outcome>();
    service.list = probe.promise;
    await fail();
    service.end = outcome('done');
    await fail(1);
    probe.resolve(outcome('unknown'));
    await new Promise(setImmediate);
    expect(service.changes).toEqual([]);
    await breaker.stop();
  });

  it('stops without waiting for the answer of a probe', async () => {
    const { service, breaker, fail } = open();
    const probe = Promise.withResolvers<Outcome>();
    service.list = probe.promise;
    await fail();
    await breaker.stop();
    probe.resolve(outcome('unknown'));
    await new Promise(setImmediate);
    expect(service.changes).toEqual([]);
  });

  it('looks once, however many calls come to nothing meanwhile', async () => {
    const { service, breaker, fail } = open();
    await Promise.all([fail(9), fail(9), fail(9)]);
    expect(service.changes).toEqual(['it is unknown']);
    await breaker.stop();
  });

  it.each(['TOKEN_UNAVAILABLE', 'JWT_UNAVAILABLE'] as const)(
    'counts a token that does not come, and names the code: %s',
    async (code) => {
      const { service, breaker, fail } = open();
      service.end = new HooklineError(code);
      await fail();
      expect(service.changes).toEqual([expect.stringContaining(`${code}: `)]);
      service.end = outcome('done');
      expect(await breaker.call(patience(60_000))).toMatchObject({ judgement: 'done' });
      await breaker.stop();
    },
  );

  it('lets calls wait, and go on when the service is back, sending nothing for them meanwhile', async () => {
    const { service, breaker, fail } = open();
    await fail();
    const waiting = [breaker.call(patience(60_000)), breaker.call(patience(60_000))];
    await until('it was looked', () => service.asked.filter((method) => method === 'GET').length > 2);
    expect(service.asked.filter((method) => method === 'PUT')).toHaveLength(5);
    service.end = outcome('done');
    expect(await Promise.all(waiting)).toMatchObject([{ judgement: 'done' }, { judgement: 'done' }]);
    await breaker.stop();
  });

  it('ends a call whose time is up, or that has none, with the reason and without a request', async () => {
    const { service, breaker, fail } = open();
    await fail();
    const told = { judgement: 'later', notSent: true, why: 'it is unknown' };
    expect(await breaker.call(CHANGE)).toMatchObject(told);
    expect(await breaker.call(patience(30))).toMatchObject(told);
    expect(service.asked.filter((method) => method === 'PUT')).toHaveLength(5);
    await breaker.stop();
  });

  it('leaves a call whose process stops', async () => {
    const { breaker, fail } = open();
    await fail();
    const stopping = new AbortController();
    const call = breaker.call(patience(60_000, stopping.signal));
    stopping.abort();
    await expect(call).rejects.toMatchObject({ name: 'AbortError' });
    await breaker.stop();
  });

  it('gives a call what is left of its time behind the wait for the service', async () => {
    const clock = manualClock();
    const { service, breaker, fail } = open({ clock });
    service.end = outcome('done');
    await breaker.call(patience(1_000));
    service.end = outcome('unknown');
    await fail();
    const waiting = breaker.call(patience(1_000));
    service.end = outcome('done');
    await clock.advance(20);
    await waiting;
    expect([service.patience.at(0), service.patience.at(-1)]).toEqual([1_000, 980]);
  });

  it('looks as seldom as its last pause says, however long the service does not answer', async () => {
    const clock = manualClock();
    const { service, breaker, fail } = open({ clock, probeAfterMs: [10, 30] });
    await fail();
    const looks = () => service.asked.filter((method) => method === 'GET').length;
    const atOpening = looks();
    await clock.advance(10 + 30 + 30 + 30);
    expect(looks() - atOpening).toBe(4);
    await breaker.stop();
  });

  it('stays closed where no request was made for another reason than a token that does not come', async () => {
    const { service, fail } = open();
    service.end = new HooklineError('TOKEN_REFUSED');
    await fail(10);
    expect([service.asked.includes('GET'), service.changes]).toEqual([false, []]);
  });

  it('ends its looking when it is stopped', async () => {
    const { service, breaker, fail } = open();
    await fail();
    await breaker.stop();
    const { length } = service.asked;
    await fail();
    expect(service.asked).toHaveLength(length);
  });
});
