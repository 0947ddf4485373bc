import { expect, it } from 'vitest';
import { createTokenStore } from '../../../src/sandbox/provider-api/token-store.ts';

it('lets a token expire at the end of its life, and revokes the rest', () => {
  let now = 1_000;
  const clock = { wall: () => now };
  const tokens = createTokenStore({ clock, ttlS: 10 });
  const { token, expiresInS } = tokens.issue();
  expect(expiresInS).toBe(10);
  now += 9_999;
  expect(tokens.isValid(token)).toBe(true);
  now += 1;
  expect(tokens.isValid(token)).toBe(false);
  const later = tokens.issue().token;
  expect(tokens.revokeAll()).toBe(1);
  expect(tokens.isValid(later)).toBe(false);
  expect(tokens.isValid('')).toBe(false);
});
