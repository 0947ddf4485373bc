import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/source-tree.ts';

const text = readFileSync(join(ROOT, 'docs/threat-model.md'), 'utf8');

/** The last cell of each row: a file, and words of a test's title in it. */
const named = [...text.matchAll(/\| `(test\/[^`]+)`: (.+) \|$/gm)].map(
  ([, file = '', title = '']) => [file, title] as const,
);

/** A title in the source may be in either kind of quotes, or a part of a longer one. */
const plain = (source: string) => source.replaceAll("\\'", "'");

describe('the threat model', () => {
  it('names a test in each row of its tables', () => {
    const rows = text.split('\n').filter((line) => /^\| (?!cannot|---)/.test(line));
    expect(named).toHaveLength(rows.length);
    expect(rows.length).toBeGreaterThan(25);
  });

  it.each(named)('%s has: %s', (file, title) => {
    expect(existsSync(join(ROOT, file))).toBe(true);
    expect(plain(readFileSync(join(ROOT, file), 'utf8'))).toContain(title);
  });
});
