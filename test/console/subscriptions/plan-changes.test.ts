import { expect, it } from 'vitest';
import { nodeSource } from '../../../src/config/env.ts';
import type { ConsoleDeps } from '../../../src/console/page/console-deps.ts';
import { PageError, type PageRequest } from '../../../src/console/page/page.ts';
import { applyChange, planChange } from '../../../src/console/subscriptions/plan-changes.ts';

const deps = { shell: { source: nodeSource({}) } } as unknown as ConsoleDeps;
const change = planChange(deps);
const read = (file: string) => change.read({ file }, {} as PageRequest);

function refusalOf(file: string): string {
  try {
    read(file);
  } catch (error) {
    if (error instanceof PageError && error.status === 400) return error.message;
    throw error;
  }
  return expect.fail('it was read');
}

it('reads a file of subscriptions, a large one too', () => {
  const refs = Array.from({ length: 800 }, (_, n) => `  ledger-${n}:\n    events: [payment-status]\n`);
  expect(read(`subscriptions:\n${refs.join('')}`)).toMatchObject({ refresh: true });
});

it.each([
  [{}, 'plan -f subscriptions.yaml', 'apply -f subscriptions.yaml'],
  [
    { noRefresh: 'true', delete: 'true' },
    'plan -f subscriptions.yaml --no-refresh',
    'apply -f subscriptions.yaml --no-refresh --delete',
  ],
])('names the command that does the same with %j', (fields, ...commands) => {
  const file = 'subscriptions:\n  eu: { events: [payment-status] }\n';
  const named = [change, applyChange(deps)].map((one) =>
    one.cli?.(one.read({ file, ...fields }, {} as PageRequest)),
  );
  expect(named).toEqual(commands.map((command) => `hookline subscriptions ${command}`));
});

it('says what is wrong with a value that contains itself', () => {
  const file = 'subscriptions:\n  eu:\n    events: [payment-status]\n    extra: &a {b: *a}\n';
  expect(refusalOf(file)).toBe(
    'The file cannot be used. subscriptions.yaml:4:15: the value contains itself by an alias.',
  );
});

it.each([
  ['names of a map', `subscriptions: {${Array.from({ length: 24_000 }, (_, n) => n.toString(36)).join()}`],
  ['lines', `subscriptions:\n${Array.from({ length: 9_000 }, (_, n) => ` r${n}:`).join('\n')}`],
])('counts %s before the parser does more than take a moment: it would name a fault', (_, file) => {
  expect(refusalOf(file.slice(0, 99_000))).toMatch(/^The file has \d+ lines and commas, and 2500 at most/);
});

it.each([
  ['lists and maps as names', `{${'[]{}'.repeat(24_000)}}`],
  ['lists in lists', '['.repeat(99_000)],
  ['maps in maps', '{a: '.repeat(24_000)],
  ['items in items', '- '.repeat(49_000)],
  ['texts', `{${'""'.repeat(48_000)}}`],
  ['anchors', '&a '.repeat(33_000)],
  ['returns', 'a: 1\r'.repeat(19_000)],
])('counts %s before the parser, too', (_, file) => {
  expect(refusalOf(file)).toMatch(/^The file has more than 15000 names, values and signs/);
});

it('says of values that are nested too deeply that they are', () => {
  const names = Array.from({ length: 4_500 }, (_, n) => `"${n}":`).join('');
  for (const file of [`{${names}}`, `a: ${'['.repeat(5_000)}`])
    expect(refusalOf(file)).toContain('values are nested too deeply');
});

it('reads a file with many members', () => {
  const refs = Array.from(
    { length: 400 },
    (_, n) => `  r${n}: { events: [payment-status], extra: { a: b, c: d } }\n`,
  );
  expect(read(`subscriptions:\n${refs.join('')}`)).toMatchObject({ refresh: true });
});

it('lists some of many faults', () => {
  const message = refusalOf(`subscriptions: {${'a,'.repeat(2_000)}}`);
  expect(message).toMatch(/\. And 1979 more\.$/);
  expect(message.length).toBeLessThan(2_000);
});
