import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../source-tree.ts';
import { GENERATED, readFile } from './files.ts';

for (const [path, make] of Object.entries(GENERATED)) {
  const text = existsSync(join(ROOT, path)) ? readFile(path) : '';
  writeFileSync(join(ROOT, path), make(text));
}
