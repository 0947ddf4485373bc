import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../source-tree.ts';
import { asyncapi } from './asyncapi.ts';
import { CHART, withValues } from './chart-readme.ts';
import { withSettings } from './chart-settings.ts';
import { contracts } from './contracts.ts';
import { withTables } from './tables.ts';

/** Files that are generated from the code, wholly or in part: by path, a function of the text that the file has now. */
export const GENERATED: Readonly<Record<string, (text: string) => string>> = {
  'docs/commands.md': withTables('statuses'),
  'docs/configuration.md': withTables('configuration', 'sandbox'),
  'docs/errors.md': withTables('errors'),
  'docs/licences.md': withTables('licences of the image', 'licences of development'),
  'schemas/asyncapi.yaml': () => asyncapi(),
  ...contracts(),
  [`${CHART}/values.schema.json`]: withSettings,
  [`${CHART}/README.md`]: withValues,
};

export const readFile = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
