import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';
import { DOCUMENTS, type Document, readDocument } from '../support/documents.ts';
import { ROOT } from '../support/source-tree.ts';

/** Each link to a file of the repository or to a heading, as it is written. */
const linksOf = ({ prose }: Document) =>
  [...prose.replaceAll(/`[^`\n]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));

/** Why a link leads nowhere, or null. */
function faultOf(link: string, from: Document): string | null {
  const [file = '', anchor] = link.split('#');
  const path = file === '' ? from.path : normalize(join(dirname(from.path), file));
  if (!existsSync(join(ROOT, path))) return `${link}: ${path} does not exist`;
  if (anchor === undefined || readDocument(path).anchors.has(anchor)) return null;
  return `${link}: ${path} has no heading with this anchor`;
}

it.each(DOCUMENTS.map((document) => [document.path, document] as const))(
  '%s links to files and headings that exist',
  (_, document) => {
    expect(
      linksOf(document)
        .map((link) => faultOf(link, document))
        .filter(Boolean),
    ).toEqual([]);
  },
);

it('finds links, and knows one that leads nowhere', () => {
  expect(DOCUMENTS.flatMap(linksOf).length).toBeGreaterThan(60);
  const [readme] = DOCUMENTS;
  if (!readme) throw new Error('no documents');
  expect(faultOf('docs/commands.md#results', readme)).toBeNull();
  expect(faultOf('docs/commands.md#result', readme)).toContain('no heading');
  expect(faultOf('docs/command.md', readme)).toContain('does not exist');
});
