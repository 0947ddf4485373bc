import { readdirSync, readFileSync } from 'node:fs';
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

/** In identifiers too: in the words that they are made of. */
const IN_CODE: readonly (readonly [RegExp, string])[] = [
  [/(?<![a-z])mend(s|ed)?(?![a-z])/i, 'remedy, fix'],
  [/\b(is|are|was|were) away\b/i, 'is unavailable'],
  [/\bpayment service\b/i, 'provider'],
  // In quotes it is a value that `hookline inspect` prints.
  [/(?<!')\bdead letters?\b(?!')/i, 'dead-letter record'],
  [/(?<![a-z])parked(?![a-z])/i, 'dead-lettered'],
  [/(?<![a-z])(world|desk)(?![a-z])/i, 'fixture, harness'],
  [/(?<![a-z])(pacer|hurry)(?![a-z])/i, 'throttle'],
  [/(?<![a-z])lanes?(?![a-z])/i, 'partition queue, keyed queue, large-body worker'],
  [/\btold drift\b/i, 'reported drift'],
];

/** This list itself, and a text that stands for one of anybody. */
const NOT_OURS = new Set(['test/docs/words.test.ts', 'test/cli/shell/print-rows.test.ts']);

it('the code uses the terms of the field, in names, comments and messages', () => {
  const files = ['src', 'test'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  );
  const faults = files
    .filter((path) => /\.(ts|mjs)$/.test(path) && !NOT_OURS.has(path))
    .flatMap((path) => {
      const lines = readFileSync(path, 'utf8').split('\n');
      return lines.flatMap((line, n) =>
        IN_CODE.filter(([word]) => word.test(line)).map(([, term]) => `${path}:${n + 1}: write ${term}`),
      );
    });
  expect(files.length).toBeGreaterThan(500);
  expect(faults).toEqual([]);
});
