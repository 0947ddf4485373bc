import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withTables } from '../readme/tables.ts';
import { ROOT } from '../source-tree.ts';
import { asyncapi } from './asyncapi.ts';
import { CHART, withValues } from './chart-readme.ts';
import { withSettings } from './chart-settings.ts';

/** Files that are made of the code, wholly or in part: each by its path, from the text that it has now. */
export const GENERATED: Readonly<Record<string, (text: string) => string>> = {
  'README.md': withTables,
  'schemas/asyncapi.yaml': () => asyncapi(),
  [`${CHART}/values.schema.json`]: withSettings,
  [`${CHART}/README.md`]: withValues,
};

export const readFile = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
