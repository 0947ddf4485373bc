import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as declared from '../readers/readers.ts';
import { CELLS, cellsOf, TOPICS } from '../readers/records/cells.ts';
import { readDocument, sectionOf, tableRows } from '../support/documents.ts';
import { ROOT } from '../support/source-tree.ts';

const { READERS } = declared;
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const document = readDocument('docs/readers.md');

describe('docs/readers.md', () => {
  it('describes each column of its table', () => {
    const described = tableRows(sectionOf(document, '## What is read')).map(([column]) => column);
    expect(described).toEqual([...CELLS]);
  });

  it('has a row for each reader and topic, and a tick for each test that runs', () => {
    const section = sectionOf(document, '## Reader, topic, schema version');
    expect(section).toContain(`\n| reader | topic | ${CELLS.join(' | ')} |\n`);
    const rows = READERS.flatMap(({ name }) =>
      TOPICS.map((topic) => {
        const ticks = CELLS.map((cell) => (cellsOf(topic).includes(cell) ? '✓' : '–'));
        return [name, `\`${topic}\``, ...ticks];
      }),
    );
    expect(tableRows(section)).toEqual(rows);
  });

  it('lists readers that a test describes, and no others', () => {
    const tests = readdirSync(join(ROOT, 'test/readers')).filter((name) => name.endsWith('.readers.test.ts'));
    const described = tests
      .flatMap((name) => [...read(`test/readers/${name}`).matchAll(/\bdescribeReader\((\w+),/g)])
      .map(([, constant = '']) => (declared as Record<string, unknown>)[constant]);
    expect(new Set(described)).toEqual(new Set(READERS));
  });

  const settings = new Map(
    tableRows(sectionOf(document, '## Versions and settings')).map(
      ([name = '', versions = '', beyond = '']) => [name, { versions, beyond }],
    ),
  );

  it('lists the versions and settings of each reader', () => {
    expect([...settings.keys()]).toEqual(READERS.map(({ name }) => name));
  });

  it.each(READERS.map((reader) => [reader.name, reader] as const))(
    'says of %s the versions that are pinned, and the settings that its sources have',
    (name, { libraries, settings: needed = [], sources }) => {
      const { versions = '', beyond = '' } = settings.get(name) ?? {};
      for (const { name: library, version, file } of libraries) {
        expect(versions).toContain(`${library} ${version}`);
        expect(pinsIn(file)).toContain(`${library} ${version}`);
      }
      const named = [...beyond.matchAll(/`([\w.-]+)`/g)].map(([, setting = '']) => setting);
      expect(named).toEqual([...needed]);
      for (const setting of named) expect(read(sources)).toContain(setting);
    },
  );
});

/** The libraries of a manifest, each as its name, a space and its version. */
function pinsIn(file: string): string[] {
  const text = read(file);
  const patterns: Readonly<Record<string, RegExp>> = {
    xml: /<artifactId>([^<]+)<\/artifactId>\s*<version>([^<]+)<\/version>/g,
    txt: /^([\w-]+)==(\S+)$/gm,
    mod: /^\s*(\S+) (v\S+)$/gm,
    json: /"([^"]+)": "(\d[^"]*)"/g,
  };
  const pattern = patterns[file.split('.').at(-1) ?? ''] ?? expect.fail(file);
  return [...text.matchAll(pattern)].map(([, name, version]) => `${name} ${version}`);
}
