import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../source-tree.ts';
import { withTables } from './tables.ts';

const path = join(ROOT, 'README.md');
writeFileSync(path, withTables(readFileSync(path, 'utf8')));
