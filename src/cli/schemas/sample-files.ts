import { type Dirent, readdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../../core/errors.ts';

/**
 * The files of these paths, and the *.json files of folders among them at any depth, in their order. Symbolic links are
 * followed: in a mounted ConfigMap every file is a link into a folder `..data`, itself a link. Each file comes once, and
 * each folder is entered once, so that links in a circle end.
 */
export function sampleFiles(paths: readonly string[]): string[] {
  const seen = new Set<string>();
  const isNew = (path: string) => seen.size < seen.add(realpathSync(path)).size;
  const filesIn = (path: string, stats: Stats): string[] => {
    if (!isNew(path)) return [];
    if (!stats.isDirectory()) return [path];
    return readdirSync(path, { withFileTypes: true })
      .sort(byName)
      .flatMap((entry) => {
        const inner = join(path, entry.name);
        const isSample = entry.name.endsWith('.json');
        const stats = statsOf(inner, isSample);
        return stats?.isDirectory() || (isSample && stats?.isFile()) ? filesIn(inner, stats) : [];
      });
  };
  return paths.flatMap((path) => {
    try {
      return filesIn(path, statSync(path));
    } catch (error) {
      throw new UsageError(`${path} cannot be read: ${(error as Error).message}`);
    }
  });
}

/** A sample that cannot be read is an error; any other entry is passed over, as a link to itself. */
function statsOf(path: string, isSample: boolean): Stats | undefined {
  try {
    return statSync(path);
  } catch (error) {
    if (isSample) throw error;
    return undefined;
  }
}

/** A file is named as people see it: Kubernetes' own folders, whose names begin with `..`, come last. */
function byName(a: Dirent, b: Dirent): number {
  const [hiddenA, hiddenB] = [a, b].map(({ name }) => Number(name.startsWith('..'))) as [number, number];
  return hiddenA - hiddenB || (a.name < b.name ? -1 : 1);
}
