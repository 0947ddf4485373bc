import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readTree } from '../support/source-tree.ts';

const text = readFileSync('docs/architecture.md', 'utf8');
const sources = new Map(readTree('src').map((file) => [file.path, file]));

/** Files that a file imports for more than their types. */
function valuesOf(path: string): string[] {
  const source = sources.get(path)?.text ?? '';
  const named = [...source.matchAll(/^(?:import|export) (?!type )([^;]*?)from '(\.[^']+)';/gm)]
    .filter(([, names = '']) => names.replace(/type \w+( as \w+)?/g, '').replace(/[{},\s]/g, '') !== '')
    .map(([, , to = '']) => to);
  const whole = [...source.matchAll(/^import '(\.[^']+)'|\bimport\(\s*'(\.[^']+)'/gm)];
  return [...named, ...whole.map(([, to, later]) => to ?? later ?? '')].map((to) => join(dirname(path), to));
}

/** All files that a file imports, directly or through others, types included. */
function closureOf(entry: string): Set<string> {
  const found = new Set<string>();
  const open = [entry];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    open.push(...(sources.get(path)?.ours ?? []));
  }
  return found;
}

describe.each([
  ['The way of a webhook', 'src/ingress/main.ts', 25, 25],
  ['The way of a command', 'src/control/main.ts', 32, 32],
])('%s', (title, entry, count, most) => {
  const section = text.split(`## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
  const [way = '', beside = ''] = section.split('Beside this way:');
  const files = [...way.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, path = '']) => path);
  const aside = [...beside.matchAll(/`(src\/[^`]+)`/g)].map(([, path = '']) => path);
  const isAside = (path: string) =>
    aside.some((one) => (one.endsWith('/') ? path.startsWith(one) : path === one));

  it(`has ${count} files (at most ${most}), each once, and all of them run in this process`, () => {
    // A file that is left out would not be missed where a folder beside the way has it.
    expect(files.length).toBe(count);
    expect(files.length).toBeLessThanOrEqual(most);
    expect(new Set(files).size).toBe(files.length);
    const closure = closureOf(entry);
    expect(files.filter((path) => !closure.has(path))).toEqual([]);
  });

  it('leads from each file to the next ones: whatever they import is on the way, or named beside it', () => {
    const lost = files.flatMap((path) =>
      valuesOf(path)
        .filter((to) => !files.includes(to) && !isAside(to))
        .map((to) => `${path} -> ${to}`),
    );
    expect(lost).toEqual([]);
  });

  it('takes time and chance from a clock that is handed in: a simulation can drive it', () => {
    const direct =
      /\b(Date\.now|performance\.now|setTimeout|setInterval|AbortSignal\.timeout|Math\.random)\b|\bnew Date\(\)|node:timers/;
    expect(files.filter((path) => direct.test(sources.get(path)?.text ?? ''))).toEqual([]);
  });

  it('names beside it only what is there and used', () => {
    const used = new Set(files.flatMap((path) => [...valuesOf(path), ...(sources.get(path)?.ours ?? [])]));
    const closure = closureOf(entry);
    const idle = aside.filter((one) =>
      one.endsWith('/')
        ? ![...closure].some((path) => path.startsWith(one))
        : !used.has(one) && !closure.has(one),
    );
    expect(aside.filter((path) => !existsSync(path))).toEqual([]);
    expect(idle).toEqual([]);
  });
});

it('The steps are those that the imports keep to', () => {
  const steps = [...text.matchAll(/^\| (\d+) \| (.*) \|$/gm)].map(([, , folders = '']) =>
    [...folders.matchAll(/`([\w-]+)`/g)].map(([, folder]) => folder),
  );
  const held =
    /const STEPS = (\[[\s\S]*?\n\]);/.exec(readFileSync('test/imports.test.ts', 'utf8'))?.[1] ?? '';
  expect(steps.reverse()).toEqual(JSON.parse(held.replace(/'/g, '"').replace(/,(\s*\])/g, '$1')));
});
