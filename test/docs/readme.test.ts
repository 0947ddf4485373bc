import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDocument, sectionOf, USER_DOCUMENTS } from '../support/documents.ts';
import { ROOT } from '../support/source-tree.ts';

const readme = readDocument('README.md');

describe('the README', () => {
  it('has at most 200 lines', () => {
    expect(readme.text.trimEnd().split('\n').length).toBeLessThanOrEqual(200);
  });

  it('links to every document', () => {
    const linked = [...readme.prose.matchAll(/\]\((docs\/[^)#]+)/g)].map(([, path]) => path);
    const all = USER_DOCUMENTS.map(({ path }) => path).filter((path) => path !== readme.path);
    expect(all.filter((path) => !linked.includes(path))).toEqual([]);
  });

  it('maps folders that exist, and every folder of src', () => {
    const map = sectionOf(readme, '## File map');
    const folders = [...map.matchAll(/^[a-z]+\/\S*/gm)].map(([folder]) => folder);
    for (const folder of folders) expect(existsSync(join(ROOT, folder)), folder).toBe(true);
    const imports = readFileSync(join(ROOT, 'test/imports.test.ts'), 'utf8');
    const [, steps = ''] = /const STEPS = \[([\s\S]*?)\];/.exec(imports) ?? [];
    const sources = [...steps.matchAll(/'(\w+)'/g)].map(([, name]) => `src/${name}/`);
    expect(sources.length).toBeGreaterThan(10);
    expect(sources.filter((folder) => !folders.includes(folder))).toEqual([]);
  });
});

describe('each document', () => {
  it.each(USER_DOCUMENTS.map((document) => [document.path, document] as const))(
    '%s begins with its title and what the reader can do with it',
    (_, { text }) => {
      expect(text).toMatch(/^# \S.*\n\n[A-Z`]/);
    },
  );
});
