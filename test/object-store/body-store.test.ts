import { describe, expect, it } from 'vitest';
import { HooklineError } from '../../src/core/errors.ts';
import { sha256Of } from '../../src/crypto/ids.ts';
import { manualClock } from '../support/manual-clock.ts';
import { scriptedBodies } from '../support/scripted-object-store.ts';

const objectOf = (text: string, name = 'e-1.json') => {
  const bytes = Buffer.from(text);
  return {
    uri: `s3://events/hookline/${name}`,
    bytes,
    sha256: sha256Of(bytes),
    contentType: 'application/json',
  };
};

describe('the address of an object', () => {
  it('has the topic, the UTC date of the receipt and the name', () => {
    const { bodies } = scriptedBodies(manualClock());
    const receivedAt = Date.UTC(2026, 10, 24, 23, 59, 59, 999);
    expect(bodies.uriOf({ topic: 'payments.payment-status', receivedAt, name: 'e.json' })).toBe(
      's3://events/hookline/payments.payment-status/2026/11/24/e.json',
    );
  });
});

describe('a write', () => {
  it('creates the object once, however often it is repeated', async () => {
    const { bodies, store, written } = scriptedBodies(manualClock());
    await bodies.write(objectOf('{}'));
    await bodies.write(objectOf('{}'));
    expect(store.objects.get('hookline/e-1.json')?.toString()).toBe('{}');
    expect(written).toEqual(['created', 'exists']);
  });

  it('finds its own bytes again where the store does not tell their hash', async () => {
    const { bodies, store, written } = scriptedBodies(manualClock());
    store.hashes = false;
    await bodies.write(objectOf('{}'));
    await bodies.write(objectOf('{}'));
    expect(written).toEqual(['created', 'exists']);
    await expect(bodies.write(objectOf('[]'))).rejects.toMatchObject({ code: 'OBJECT_TAKEN' });
    expect(store.calls).toContain('hash hookline/e-1.json');
  });

  it('says that other bytes of the same length have the name', async () => {
    const { bodies, written, troubles } = scriptedBodies(manualClock());
    await bodies.write(objectOf('{}'));
    await expect(bodies.write(objectOf('[]'))).rejects.toMatchObject({ code: 'OBJECT_TAKEN' });
    expect(written).toEqual(['created', 'taken']);
    expect(troubles).toEqual([]);
  });

  it('is tried again while the store is unavailable, until its deadline', async () => {
    const clock = manualClock();
    const { bodies, store, written, troubles } = scriptedBodies(clock);
    store.fateOf = () => 'unavailable';
    const failed = bodies.write(objectOf('{}')).catch((error) => error);
    await clock.advance(14_999);
    expect(store.calls.length).toBeGreaterThan(5);
    expect(written).toEqual([]);
    await clock.advance(1);
    expect(await failed).toMatchObject({
      code: 'BODY_STORE_UNAVAILABLE',
      message: expect.stringContaining('the script says unavailable'),
    });
    expect(written).toEqual(['unavailable']);
    expect(troubles).toHaveLength(1);
  });

  it('is tried so often as it may be', async () => {
    const clock = manualClock();
    const { bodies, store } = scriptedBodies(clock, 15_000, { attempts: 3 });
    store.fateOf = () => 'unavailable';
    const failed = bodies.write(objectOf('{}')).catch((error) => error);
    await clock.advance(1_000);
    expect(await failed).toMatchObject({ code: 'BODY_STORE_UNAVAILABLE' });
    expect(store.calls).toHaveLength(3);
  });

  it('ends at its deadline where the store does not answer', async () => {
    const clock = manualClock();
    const { bodies, store } = scriptedBodies(clock, 2_000);
    store.fateOf = () => 'hangs';
    const failed = bodies.write(objectOf('{}')).catch((error) => error);
    await clock.advance(2_000);
    expect(await failed).toMatchObject({
      code: 'BODY_STORE_UNAVAILABLE',
      message: expect.stringContaining('no answer within 2000 ms'),
    });
  });

  it('ends at once where the store refuses it', async () => {
    const { bodies, store, troubles } = scriptedBodies(manualClock());
    store.fateOf = () => 'refused';
    await expect(bodies.write(objectOf('{}'))).rejects.toMatchObject({ code: 'BODY_STORE_REFUSED' });
    expect(store.calls).toHaveLength(1);
    expect(troubles).toHaveLength(1);
  });

  it('of an object that the store refuses, and takes others, ends at once and stops no other', async () => {
    const { bodies, store, written, troubles } = scriptedBodies(manualClock());
    store.fateOf = (call) => (call.includes('large') ? 'object_refused' : undefined);
    await expect(bodies.write(objectOf('{}', 'large.json'))).rejects.toMatchObject({
      code: 'BODY_STORE_REFUSED',
      message: expect.stringContaining('the script says object_refused'),
    });
    expect(bodies.refusal).toBeNull();
    await bodies.write(objectOf('{}'));
    expect(written).toEqual(['object_refused', 'created', 'created']);
    expect(troubles).toEqual([]);
  });

  it('of an object that the store refuses like any other opens the breaker: a check finds that out', async () => {
    const clock = manualClock();
    const { bodies, store, troubles } = scriptedBodies(clock);
    store.fateOf = () => 'object_refused';
    await expect(bodies.write(objectOf('{}'))).rejects.toMatchObject({ code: 'BODY_STORE_REFUSED' });
    await clock.advance(0);
    expect(troubles).toHaveLength(1);
    expect(bodies.refusal).toMatchObject({ code: 'BODY_STORE_REFUSED' });
  });

  it('makes a check only from time to time, however many objects are refused', async () => {
    const clock = manualClock();
    const { bodies, store } = scriptedBodies(clock);
    store.fateOf = (call) => (call.startsWith('create') ? 'object_refused' : undefined);
    for (let n = 0; n < 10; n++) await bodies.write(objectOf('{}', `${n}`)).catch(() => {});
    expect(store.calls.filter((call) => call.startsWith('replace'))).toHaveLength(1);
    await clock.advance(5_000);
    await bodies.write(objectOf('{}')).catch(() => {});
    expect(store.calls.filter((call) => call.startsWith('replace'))).toHaveLength(2);
  });

  it('that is confirmed without a sign of S3 counts when the object is there', async () => {
    const { bodies, store, written } = scriptedBodies(manualClock());
    store.fateOf = (call) => (call.startsWith('create') ? 'lies' : undefined);
    const create = store.create.bind(store);
    store.create = async (key, object, signal) => {
      const answer = await create(key, object, signal);
      store.objects.set(key, object.bytes);
      return answer;
    };
    await bodies.write(objectOf('{}'));
    expect(written).toEqual(['created']);
    expect(store.calls).toContain('describe hookline/e-1.json');
  });

  it('that is confirmed and not done does not count', async () => {
    const { bodies, store, written } = scriptedBodies(manualClock(), 15_000, { attempts: 1 });
    store.fateOf = () => 'lies';
    await expect(bodies.write(objectOf('{}'))).rejects.toMatchObject({
      code: 'BODY_STORE_UNAVAILABLE',
      message: expect.stringContaining('was confirmed and is not there): check BODY_STORE_ENDPOINT'),
    });
    expect(written).toEqual(['unavailable']);
  });

  it('takes an answer that was lost for what it was: its own object', async () => {
    const clock = manualClock();
    const { bodies, store, written } = scriptedBodies(clock);
    // The object is there, and its answer is not.
    store.fateOf = (_, n) => (n === 1 ? 'unavailable' : undefined);
    store.objects.set('hookline/e-1.json', Buffer.from('{}'));
    const done = bodies.write(objectOf('{}'));
    await clock.advance(1_000);
    await done;
    expect(written).toEqual(['exists']);
  });
});

describe('a store in trouble', () => {
  const inTrouble = async () => {
    const clock = manualClock();
    const scripted = scriptedBodies(clock);
    scripted.store.fateOf = () => 'refused';
    await scripted.bodies.write(objectOf('{}', '1')).catch(() => {});
    return { clock, ...scripted };
  };

  it('is asked no more after a write that failed: further ones fail at once', async () => {
    const { bodies, store } = await inTrouble();
    expect(bodies.refusal).not.toBeNull();
    await expect(bodies.write(objectOf('{}'))).rejects.toMatchObject({ code: 'BODY_STORE_REFUSED' });
    expect(store.calls).toHaveLength(1);
  });

  it('keeps no error, whose stack would hold the bytes that were written', async () => {
    const { bodies, store } = scriptedBodies(manualClock());
    store.fateOf = () => 'refused';
    const error = await bodies.write(objectOf('{}')).catch((error) => error);
    expect(bodies.refusal).toMatchObject({ code: error.code, message: error.message });
    expect(bodies.refusal).not.toBe(error);
    expect(bodies.refusal?.cause).toBeUndefined();
  });

  it('is tried by every write where another client decides', async () => {
    const { bodies, store } = scriptedBodies(manualClock(), 15_000, { isGuarded: true });
    store.fateOf = () => 'refused';
    for (const n of [1, 2, 3]) await bodies.write(objectOf('{}', `${n}`)).catch(() => {});
    expect([store.calls.length, bodies.refusal]).toEqual([3, null]);
  });

  it('is tried again after a second, however many writes failed together', async () => {
    const clock = manualClock();
    const { bodies, store } = scriptedBodies(clock);
    store.fateOf = () => 'refused';
    await Promise.allSettled([1, 2, 3, 4, 5].map((n) => bodies.write(objectOf('{}', `${n}`))));
    expect(store.calls).toHaveLength(5);
    await clock.advance(1_000);
    expect(bodies.refusal).toBeNull();
  });

  it('gets one write after a second, and the next ones only when it took that', async () => {
    const { bodies, store, clock, troubles } = await inTrouble();
    await clock.advance(1_000);
    let go = () => {};
    store.fateOf = async () => {
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      return undefined;
    };
    const probe = bodies.write(objectOf('{}'));
    expect(bodies.refusal).not.toBeNull();
    await expect(bodies.write(objectOf('{}', 'other'))).rejects.toMatchObject({ code: 'BODY_STORE_REFUSED' });
    go();
    await probe;
    expect(bodies.refusal).toBeNull();
    expect(bodies.trouble).toBeNull();
    expect(troubles).toEqual([expect.any(String), null]);
  });

  it('is left alone for longer with each probe that fails', async () => {
    const { bodies, clock } = await inTrouble();
    for (const pause of [1_000, 2_000, 4_000, 5_000, 5_000]) {
      await clock.advance(pause - 1);
      expect(bodies.refusal).not.toBeNull();
      await clock.advance(1);
      await bodies.write(objectOf('{}')).catch(() => {});
    }
  });

  it('is not back when it takes the object of a check: the next message decides', async () => {
    const { bodies, store, clock, troubles } = await inTrouble();
    store.fateOf = (call) => (call.startsWith('create') ? 'unavailable' : undefined);
    await clock.advance(1_000);
    expect(bodies.isMessageAwaited).toBe(false);
    await bodies.check();
    expect(store.calls.at(-1)).toBe('replace hookline/hookline-check.json');
    expect([bodies.isMessageAwaited, bodies.refusal]).toEqual([true, null]);
    expect(bodies.trouble).not.toBeNull();
    const failed = bodies.write(objectOf('{}')).catch(() => {});
    await clock.advance(15_000);
    await failed;
    expect(bodies.isMessageAwaited).toBe(false);
    expect(bodies.refusal).not.toBeNull();
    await clock.advance(2_000);
    await bodies.check();
    store.fateOf = () => undefined;
    await bodies.write(objectOf('{}'));
    expect(bodies.trouble).toBeNull();
    expect(troubles).toEqual([expect.any(String), null]);
  });

  it('that only a check has found is back with the next check', async () => {
    const clock = manualClock();
    const { bodies, store } = scriptedBodies(clock);
    store.fateOf = () => 'refused';
    await expect(bodies.check()).rejects.toMatchObject({ code: 'BODY_STORE_REFUSED' });
    store.fateOf = () => undefined;
    await clock.advance(1_000);
    await bodies.check();
    expect(bodies.trouble).toBeNull();
  });

  it('that fails again soon is left alone for as long as before, and counts as unavailable for a minute', async () => {
    const { bodies, store, clock, troubles } = await inTrouble();
    const pauses = [1_000, 2_000, 4_000, 5_000, 5_000];
    for (const pause of pauses) {
      await clock.advance(pause - 1);
      expect(bodies.refusal).not.toBeNull();
      await clock.advance(1);
      store.fateOf = () => undefined;
      await bodies.write(objectOf('{}'));
      expect(bodies.refusal).toBeNull();
      store.fateOf = () => 'refused';
      await bodies.write(objectOf('{}', 'large')).catch(() => {});
    }
    // The first recovery was believed.
    expect(troubles).toEqual([expect.any(String), null, expect.any(String)]);
    await clock.advance(5_000);
    store.fateOf = () => undefined;
    await bodies.write(objectOf('{}', 'last'));
    await clock.advance(59_999);
    expect(troubles).toHaveLength(3);
    await clock.advance(1);
    expect(troubles.at(-1)).toBeNull();
  });

  it('is known by the writes of other clients too', () => {
    const { bodies, troubles } = scriptedBodies(manualClock());
    bodies.noteWrite('unavailable', 15, new HooklineError('BODY_STORE_UNAVAILABLE', 'it hangs'));
    expect(bodies.trouble).toContain('it hangs');
    bodies.noteWrite('created', 0.1);
    expect(bodies.trouble).toBeNull();
    expect(troubles).toHaveLength(2);
  });
});

describe('a read', () => {
  const stored = objectOf('{"a":1}');
  const reference = { uri: stored.uri, bytes: stored.bytes.length, sha256: stored.sha256 };

  it('gives the bytes that were stored', async () => {
    const { bodies } = scriptedBodies(manualClock());
    await bodies.write(stored);
    expect((await bodies.read(reference)).toString()).toBe('{"a":1}');
  });

  it('says where the object is missing, changed, or in another bucket', async () => {
    const { bodies, store } = scriptedBodies(manualClock());
    await expect(bodies.read(reference)).rejects.toMatchObject({ code: 'OBJECT_MISSING' });
    store.objects.set('hookline/e-1.json', Buffer.from('{"a":2}'));
    await expect(bodies.read(reference)).rejects.toMatchObject({ code: 'OBJECT_CHANGED' });
    store.objects.set('hookline/e-1.json', Buffer.from('{"a":1}}'));
    await expect(bodies.read(reference)).rejects.toMatchObject({ code: 'OBJECT_CHANGED' });
    store.objects.set('hookline/e-1.json', Buffer.from('{"a":1'));
    await expect(bodies.read(reference)).rejects.toMatchObject({ code: 'OBJECT_CHANGED' });
    const elsewhere = { ...reference, uri: 's3://other/hookline/e-1.json' };
    await expect(bodies.read(elsewhere)).rejects.toMatchObject({ code: 'OBJECT_MISSING' });
    expect(store.calls.filter((call) => call.includes('other'))).toEqual([]);
  });
});
