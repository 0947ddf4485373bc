import { expect, it } from 'vitest';
import { createHandedTokens } from '../../src/tokens/handed-tokens.ts';

it('a thread waits for the first token that it is handed, and tells which one was not taken', async () => {
  const rejected: string[] = [];
  const tokens = createHandedTokens((token) => rejected.push(token));
  const first = tokens.get();
  tokens.hand('token-1');
  expect([await first, tokens.current()]).toEqual(['token-1', 'token-1']);
  tokens.reject('token-1');
  expect(rejected).toEqual(['token-1']);
  tokens.hand(undefined);
  await expect(tokens.get()).rejects.toMatchObject({ code: 'ACCESS_TOKEN_UNAVAILABLE' });
  tokens.hand('token-2');
  expect(await tokens.get()).toBe('token-2');
});
