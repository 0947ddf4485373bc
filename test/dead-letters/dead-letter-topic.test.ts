import { describe, expect, it } from 'vitest';
import { HooklineError } from '../../src/core/errors.ts';
import { sha256Of } from '../../src/crypto/ids.ts';
import { fetchBodies, isUnreadNow } from '../../src/dead-letters/dead-letter-topic.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { deadLetter } from '../support/dead-letter.ts';
import { scriptedBodies } from '../support/scripted-object-store.ts';

describe('bodies in the object store', () => {
  const all = [1, 2, 3, 4].map((n) => ({
    ...deadLetter({ at: `0:${n}` }),
    object: { uri: `s3://bucket/${n}`, bytes: 1, sha256: 'x' },
  }));
  const keyOf = (uri: string) => uri;
  const uris = (asked: readonly string[]) => asked.map((uri) => uri.at(-1)).join('');

  it('are asked for one after the other, and no more behind one that the store does not give now', async () => {
    const away = new HooklineError('BODY_STORE_UNAVAILABLE', 'no answer within 15000 ms');
    const gone = new HooklineError('OBJECT_MISSING', 's3://bucket/1');
    const asked: string[] = [];
    const read = async ({ uri }: { uri: string }) => {
      asked.push(uri);
      if (uri.endsWith('1')) throw gone;
      if (uri.endsWith('3')) throw away;
      return Buffer.from(uri);
    };
    const found = await fetchBodies({ read, keyOf }, all, undefined);
    expect(uris(asked)).toBe('123');
    expect([...found]).toEqual([
      ['0:1', gone],
      ['0:2', Buffer.from('s3://bucket/2')],
      ['0:3', away],
      ['0:4', away],
    ]);
  });

  it('are asked for no more when nobody waits for them', async () => {
    const stopping = new AbortController();
    const asked: string[] = [];
    const read = async ({ uri }: { uri: string }) => {
      if (asked.push(uri) === 2) stopping.abort();
      return Buffer.from(uri);
    };
    await fetchBodies({ read, keyOf }, all, stopping.signal);
    expect(uris(asked)).toBe('12');
  });
});

describe('a body that cannot be read now', () => {
  const { bodies, store } = scriptedBodies(systemClock);
  const bodyIn = async (bucket: string, from: typeof bodies | undefined) => {
    const object = { uri: `s3://${bucket}/hookline/1`, bytes: 2, sha256: sha256Of(Buffer.from('{}')) };
    const found = await fetchBodies(from, [{ ...deadLetter({ at: '0:1' }), object }], undefined);
    return found.get('0:1') as Error;
  };

  it.each([
    ['whose store is not named', 'events', undefined, 'set BODY_STORE'],
    ['in another bucket', 'events-of-2025', bodies, 'BODY_STORE names another bucket: set the earlier one'],
    ['in whose place something else is given', 'events', bodies, 'check what answers at BODY_STORE_ENDPOINT'],
  ])('is one %s: the error says what to do', async (_, bucket, from, remedy) => {
    store.objects.set('hookline/1', Buffer.from('<html>log in</html>'));
    const error = await bodyIn(bucket, from);
    expect(error.message).toContain(remedy);
    expect(isUnreadNow(error)).toBe(true);
  });

  it('is not one that the store says it does not have', async () => {
    store.objects.clear();
    const error = await bodyIn('events', bodies);
    expect(error).toMatchObject({ code: 'OBJECT_MISSING' });
    expect(isUnreadNow(error)).toBe(false);
  });
});
