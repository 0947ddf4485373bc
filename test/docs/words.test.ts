import { expect, it } from 'vitest';
import { DOCUMENTS, type Document } from '../support/documents.ts';

/** Words that are no terms of the field, or not ours, each with the term to use. */
const TERMS: readonly (readonly [RegExp, string])[] = [
  [/\bmend(s|ed|ing)?\b/i, 'remedy, repair'],
  [/\b(is|are) away\b/i, 'is unavailable'],
  [/\bpayment service\b/i, 'provider'],
  [/\bdead letter\b/i, 'dead-letter record'],
  [/\bparked\b|(?<!dead[- ])\bletters?\b/i, 'dead-lettered, dead-letter record'],
  [/\b(tenure|pacer|linger)\b/i, 'lease, rate, discard'],
  [/\bin doubt\b/i, 'with an unknown outcome'],
  [/\b(under way|told drift)\b/i, 'in progress, reported drift'],
  [/\bcan not\b/i, 'cannot'],
  [/\b(don|doesn|isn|aren|can|won|didn|wasn|hasn|haven)['’]t\b/i, 'without the contraction'],
];

/** History, and the campaign's own table. */
const OTHERS = new Set(['CHANGELOG.md', 'docs/hostile.md']);

/** What a document says itself: not code, and not the titles of tests. */
const sentencesOf = ({ prose }: Document) => prose.replaceAll(/`[^`]*`/g, '').replaceAll(/\| : .*\|$/gm, '');

it.each(
  DOCUMENTS.filter(({ path }) => !OTHERS.has(path)).map((document) => [document.path, document] as const),
)('%s uses the terms of the field', (_, document) => {
  const sentences = sentencesOf(document);
  const faults = TERMS.flatMap(([word, term]) => {
    const found = word.exec(sentences);
    return found ? [`"${found[0]}": write ${term}`] : [];
  });
  expect(faults).toEqual([]);
});
