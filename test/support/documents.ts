import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './source-tree.ts';

/** A Markdown file as its readers see it: prose, code blocks, headings. */
export type Document = {
  /** From the repository's root. */
  readonly path: string;
  readonly text: string;
  /** The text without its code blocks. */
  readonly prose: string;
  readonly blocks: readonly { readonly language: string; readonly text: string }[];
  /** What a link can name behind `#`. */
  readonly anchors: ReadonlySet<string>;
};

const FENCED = /^```(\w*)\n([\s\S]*?)^```$/gm;

export function readDocument(path: string): Document {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const prose = text.replaceAll(FENCED, '');
  return {
    path,
    text,
    prose,
    blocks: [...text.matchAll(FENCED)].map(([, language = '', block = '']) => ({ language, text: block })),
    anchors: new Set(anchorsOf(prose)),
  };
}

/** README.md and docs/: what a user reads. */
export const USER_DOCUMENTS: readonly Document[] = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].map(readDocument);

/** With them all that they link to, and that links to them. */
export const DOCUMENTS: readonly Document[] = [
  ...USER_DOCUMENTS,
  ...['CHANGELOG.md', 'SECURITY.md', 'deploy/RUNBOOK.md', 'deploy/helm/hookline/README.md'].map(readDocument),
];

/** The part of a document under a heading, up to the next heading of the same or a higher level. */
export function sectionOf({ path, text }: Document, heading: string): string {
  const [level = ''] = /^#+/.exec(heading) ?? [];
  const [, after] = text.split(`\n${heading}\n`);
  if (after === undefined) throw new Error(`${path} has no heading ${heading}`);
  const end = after.replaceAll(FENCED, (block) => ' '.repeat(block.length));
  const next = new RegExp(`^#{1,${level.length}} `, 'm').exec(end);
  return after.slice(0, next?.index);
}

/** The rows of the first table of a text, as cells. */
export function tableRows(text: string): string[][] {
  const [, table = ''] = /(?:^|\n)\|.*\n\| ?-.*\n((?:\|.*\n)+)/.exec(`${text}\n`) ?? [];
  return table
    .trimEnd()
    .split('\n')
    .map((line) => line.slice(2, -2).split(' | '));
}

/** As GitHub makes them: a heading that comes again gets a number. */
function anchorsOf(prose: string): string[] {
  const seen = new Map<string, number>();
  return [...prose.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = plain.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-');
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
}
