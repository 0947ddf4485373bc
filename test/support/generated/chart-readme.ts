import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMap, isScalar, type Pair, parseDocument, type Scalar, type YAMLMap } from 'yaml';
import { ROOT } from '../source-tree.ts';
import { between } from './tables.ts';

export const CHART = 'deploy/helm/hookline';

type Row = { readonly key: string; readonly value: string; readonly about: string };

/** The chart's README with its table of values, made of values.yaml and the comments in it that begin with `--`. */
export function withValues(readme: string): string {
  const table = ['| value | default | what it is |', '| --- | --- | --- |', ...rows().map(line)].join('\n');
  return between(readme, 'values', table);
}

const line = ({ key, value, about }: Row) => `| \`${key}\` | ${value} | ${about.replaceAll('|', '\\|')} |`;

function rows(): Row[] {
  const document = parseDocument(readFileSync(join(ROOT, CHART, 'values.yaml'), 'utf8'));
  return rowsOf(document.contents as YAMLMap, '');
}

function rowsOf(map: YAMLMap, path: string): Row[] {
  return (map.items as Pair<Scalar<string>, unknown>[]).flatMap(({ key, value }, n) => {
    const name = path + key.value;
    // The first key's comment is taken for the one of its map.
    const comment = key.commentBefore ?? (n === 0 ? map.commentBefore : undefined) ?? '';
    const about = aboutOf(comment);
    if (isMap(value) && value.items.length > 0 && about === '') return rowsOf(value as YAMLMap, `${name}.`);
    const shown = isScalar(value) ? value.value : (value as YAMLMap | null)?.toJSON();
    return [
      { key: name, value: shown === '' || shown === null ? '' : `\`${JSON.stringify(shown)}\``, about },
    ];
  });
}

/** What stands behind the last `--` of the comment before a key. */
function aboutOf(comment: string): string {
  const [, about = ''] = /(?:^|\n) --([\s\S]*)$/.exec(comment) ?? [];
  return about.replaceAll(/\n\s*/g, ' ').trim();
}
