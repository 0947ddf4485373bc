import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDialect } from '../../src/provider/dialect.ts';
import { extraConflict, fold, sendableAgain } from '../../src/provider/extra-fields.ts';

const dialectOf = (dialect: object) => parseDialect(JSON.stringify(dialect));
const ALLOWING = dialectOf({ extra: { allow: ['metadata', 'note'] } });

describe("a command's extra", () => {
  it('adds nothing by default, and says where to allow it', () => {
    expect(extraConflict(dialectOf({}), {})).toBeNull();
    expect(extraConflict(dialectOf({}), { note: 1 })).toBe(
      "extra.note is not in the dialect's extra.allow, which is empty",
    );
  });

  it('adds what extra.allow names, by exactly that name', () => {
    expect(extraConflict(ALLOWING, { note: 'x', metadata: { team: ['ledger', { lead: 1 }] } })).toBeNull();
    for (const name of ['Note', 'no-te', 'other', 'constructor', 'toString'])
      expect(extraConflict(ALLOWING, { [name]: 1 }), name).toContain('which names metadata, note');
  });

  it.each([
    ...[
      'url',
      'URL',
      'Url',
      'u-r-l',
      'U_R_L',
      'ürl',
      'ｕｒｌ',
      'u\u200brl',
      'url ',
      '$.url',
      'hook.url',
      'hook[url]',
    ],
    ...['events', 'EVENTS', 'event\u017f', 'Events_', 'eventS', 'ⓔvents'],
    ...['encryptionKey', 'encryption_key', 'ENCRYPTION-KEY', 'encryption\u212aey', 'encrypt\u0131onkey'],
    ...['encrypt\u0130onKey', 'signing-secret', '__proto__'],
  ])('holds %j at no depth', (name) => {
    const shapes = [
      `{${JSON.stringify(name)}:1}`,
      `{"metadata":{${JSON.stringify(name)}:1}}`,
      `{"metadata":[1,[{"a":{${JSON.stringify(name)}:[]}}]]}`,
      `{"note":1,"metadata":{"b":2,${JSON.stringify(name)}:null}}`,
    ];
    for (const shape of shapes)
      expect(extraConflict(ALLOWING, JSON.parse(shape)), shape).toContain('would set');
  });

  it('has no names so long that comparing one holds up control: marks are sorted in quadratic time', () => {
    const long = `a${'\u0301\u0323'.repeat(1_000)}`;
    for (const extra of [{ [long]: 1 }, { note: [{ [long]: 1 }] }])
      expect(extraConflict(ALLOWING, extra)).toMatch(/has a name of more than 200 characters$/);
    expect(extraConflict(ALLOWING, { note: { ['n'.repeat(200)]: long } })).toBeNull();
  });

  it('has no names that take long together: a character may fold to eighteen, and a name have a hundred steps', () => {
    const name = (n: number) => `${n}${'\ufdfa.'.repeat(98)}`;
    const some = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [name(n), 1]));
    expect(extraConflict(ALLOWING, { metadata: some(80) })).toBeNull();
    for (const extra of [some(90), { metadata: [some(45), [some(45)]] }])
      expect(extraConflict(ALLOWING, extra)).toBe('extra has names of more than 16384 characters together');
    expect(sendableAgain(ALLOWING, { metadata: some(80), note: some(90) })).toEqual({ metadata: some(80) });
  });

  it('counts conflicts that are thousands, deep inside, and shows five', () => {
    const deep = (value: object) => Array.from({ length: 800 }).reduce<object>((inner) => [inner], value);
    const many = { metadata: deep(Array.from({ length: 4_000 }, () => ({ url: 1 }))) };
    expect(extraConflict(ALLOWING, many)).toMatch(/; 3995 more$/);
  });

  it('names where it is refused, however its sender calls it, and how many more there are', () => {
    expect(extraConflict(ALLOWING, { metadata: [{ 'the URL:url': 1 }] })).toBe(
      'extra.metadata[0]["the URL:url"] would set the address',
    );
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`${n}${'x'.repeat(1e6)}`, 1]));
    expect(extraConflict(ALLOWING, many)).toMatch(/; 4 more$/);
    expect(extraConflict(ALLOWING, many)?.length).toBeLessThan(1_000);
  });

  it('sets nothing that carries address, events or key under the names of the dialect, in whichever body', () => {
    const dialect = dialectOf({
      create: {
        body: {
          target: { address: 'to {url}' },
          topics: ['{events}'],
          label: 'x',
          secret: '{encryptionKey}',
        },
        response: { signingSecret: '/data/hmac' },
      },
      update: { body: { kind: 'y' } },
      list: { url: '/callback/0', events: '/kinds' },
      extra: { allow: ['metadata'] },
    });
    for (const name of ['target', 'Address', 'to-pics', 'secret', 'hmac', 'kinds', 'url'])
      expect(extraConflict(dialect, { metadata: { [name]: 1 } }), name).toContain('would set');
    for (const name of ['label', 'KIND', 'executionId'])
      expect(extraConflict(dialect, { [name]: 1 }), name).toContain('is set by the dialect itself');
    expect(extraConflict(dialect, { metadata: { label: 1, kind: 2 } })).toBeNull();
  });

  it('that was accepted before may come again as it was, but for what is guarded', () => {
    const accepted = { note: { a: 1 }, old: 1, URL: 'https://evil.example', url: 'https://evil.example' };
    expect(extraConflict(dialectOf({}), { note: { a: 1 }, old: 1 }, accepted)).toBeNull();
    expect(extraConflict(dialectOf({}), { note: { a: 2 } }, accepted)).toContain('extra.note is not in');
    expect(extraConflict(dialectOf({}), { URL: accepted.URL }, accepted)).toContain('would set the address');
    expect(sendableAgain(dialectOf({}), accepted)).toEqual({ note: { a: 1 }, old: 1 });
  });

  it('of any JSON holds nothing guarded where it is let through, at no depth', () => {
    const name = fc.oneof(
      fc.constantFrom('url', 'URL', 'events', 'encryptionKey', 'metadata', 'note', '__proto__', 'a'),
      fc.string({ unit: 'grapheme' }),
    );
    const json = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 5 }, fc.jsonValue({ maxDepth: 0 }), fc.array(tie('value')), tie('object')),
      object: fc.dictionary(name, tie('value')),
    })).object;
    const names = (value: unknown): string[] =>
      typeof value !== 'object' || value === null
        ? []
        : Object.entries(value).flatMap(([key, inner]) => [key, ...names(inner)]);
    fc.assert(
      fc.property(json, (given) => {
        const extra = JSON.parse(JSON.stringify({ metadata: given }));
        if (extraConflict(ALLOWING, extra) !== null) return;
        const guarded = ['url', 'events', 'encryptionkey', 'signingsecret'];
        expect(names(extra).filter((one) => guarded.includes(fold(one)) || one === '__proto__')).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});
