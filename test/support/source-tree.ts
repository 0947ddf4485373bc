import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

export type SourceFile = {
  /** From the repository's root, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  /** Our own files that it imports, types included, from the root. */
  readonly ours: readonly string[];
  /** Packages and `node:` modules that it imports. */
  readonly packages: readonly string[];
};

export const ROOT = resolve(import.meta.dirname, '../..');

/** Statements and calls that name a module, those that import types alone included. */
const IMPORT =
  /^(?:import|export)\b[^;]*?\bfrom\s+'([^'\n]+)'|^import\s+'([^'\n]+)'|\bimport\(\s*'([^'\n]+)'/gm;

export function readTree(folder: string): SourceFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => readSource(relative(ROOT, join(entry.parentPath, entry.name))))
    .sort((a, b) => a.path.localeCompare(b.path));
}

function readSource(path: string): SourceFile {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const named = [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
  return {
    path,
    text,
    lines: text.trimEnd().split('\n').length,
    ours: named.filter((name) => name.startsWith('.')).map((name) => join(dirname(path), name)),
    packages: named.filter((name) => !name.startsWith('.')).map(packageOf),
  };
}

const packageOf = (name: string) =>
  name.startsWith('node:')
    ? name
    : name
        .split('/')
        .slice(0, name.startsWith('@') ? 2 : 1)
        .join('/');

/** The first cycle found, as its files in order, or null. */
export function findCycle(files: readonly SourceFile[]): string[] | null {
  const imports = new Map(files.map((file) => [file.path, file.ours]));
  const done = new Set<string>();
  const walk = (path: string, trail: string[]): string[] | null => {
    const at = trail.indexOf(path);
    if (at >= 0) return [...trail.slice(at), path];
    if (done.has(path)) return null;
    for (const next of imports.get(path) ?? []) {
      const cycle = walk(next, [...trail, path]);
      if (cycle) return cycle;
    }
    done.add(path);
    return null;
  };
  for (const file of files) {
    const cycle = walk(file.path, []);
    if (cycle) return cycle;
  }
  return null;
}
