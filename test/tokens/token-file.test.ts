import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { tokenFromFile } from '../../src/tokens/token-file.ts';

const dir = mkdtempSync(join(tmpdir(), 'hookline-token-'));
const path = join(dir, 'token');
afterAll(() => rmSync(dir, { recursive: true }));

const NOW = Date.parse('2026-11-24T12:00:00Z');
const clock = { ...systemClock, wall: () => NOW };

/** Unsigned: whoever takes it checks that. */
const jwt = (endsInS: number) =>
  ['{"alg":"none"}', JSON.stringify({ exp: NOW / 1_000 + endsInS }), '']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.');

function open() {
  const seen: (number | string | undefined)[] = [];
  const observer = {
    obtained: (endsAt: number | undefined) => seen.push(endsAt && endsAt - NOW),
    failed: (error: Error) => seen.push(error.message),
  };
  return { tokens: tokenFromFile({ variable: 'KAFKA_OAUTH_TOKEN_FILE', path }, clock, observer), seen };
}

describe('a token from a file', () => {
  it('is read before each use, and told of when it changes', async () => {
    const { tokens, seen } = open();
    writeFileSync(path, `${jwt(60)}\n`);
    expect([await tokens.get(), await tokens.get(), tokens.current()]).toEqual([jwt(60), jwt(60), jwt(60)]);
    writeFileSync(path, 'opaque-token');
    expect(await tokens.get()).toBe('opaque-token');
    expect(seen).toEqual([60_000, undefined]);
  });

  it.each([
    ['', /holds no token/],
    ['two tokens', /holds no token/],
    ['x'.repeat(16_385), /holds no token/],
    [jwt(0), /has ended, or is about to: 2026-11-24T12:00:00/],
    [jwt(4), /has ended, or is about to: 2026-11-24T12:00:04/],
  ])('that holds none that can be shown is explained, and never quoted', async (content, finding) => {
    const { tokens, seen } = open();
    writeFileSync(path, content);
    await expect(tokens.get()).rejects.toMatchObject({
      code: 'ACCESS_TOKEN_UNAVAILABLE',
      message: expect.stringMatching(finding),
    });
    expect(tokens.current()).toBeUndefined();
    expect(seen).toHaveLength(1);
    expect(seen[0]).toContain('KAFKA_OAUTH_TOKEN_FILE');
    if (content !== '') expect(seen[0]).not.toContain(content);
  });

  it('that is missing is explained', async () => {
    const { tokens } = open();
    rmSync(path);
    await expect(tokens.get()).rejects.toThrow(/ENOENT.*mount it there/);
  });
});
