import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { columnWidths, visible, wrap } from '../../../src/cli/shell/print-rows.ts';

describe('columns', () => {
  it('are as wide as their widest line if the terminal is wide enough', () => {
    const rows = [
      ['topic', 'state'],
      ['payments.commands', 'a\nlonger'],
    ];
    expect(columnWidths(rows, 100)).toEqual([17, 6]);
    expect(columnWidths(rows, Number.POSITIVE_INFINITY)).toEqual([17, 6]);
  });

  it('fit into the terminal: the widest ones become narrower first', () => {
    const rows = [['x'.repeat(40), 'y'.repeat(60), 'z']];
    expect(columnWidths(rows, 71)).toEqual([35, 35, 1]);
    expect(columnWidths(rows, 91)).toEqual([40, 50, 1]);
  });

  it('break between words before they break words', () => {
    const rows = [['payments.accounts-entries', 'would be created', 'one two three four five six']];
    expect(columnWidths(rows, 45)).toEqual([25, 10, 10]);
    expect(columnWidths(rows, 36)).toEqual([24, 7, 5]);
  });

  it('are found for hundreds of thousands of rows', () => {
    const rows = Array.from({ length: 300_000 }, () => ['0:1', 'a b']);
    expect(columnWidths(rows, 100)).toEqual([3, 3]);
  });

  it('keep a least width', () => {
    expect(columnWidths([['x'.repeat(40), 'y'.repeat(40), 'abc']], 5)).toEqual([8, 8, 3]);
  });
});

describe('a wrapped text', () => {
  it('breaks between words, and keeps its own lines', () => {
    expect(wrap('one two three\nfour', 8)).toBe('one two\nthree\nfour');
  });

  it('breaks a word that is longer than a line, and loses none of it', () => {
    expect(wrap('3f2c1d9e-aaaa-bbbb', 8)).toBe('3f2c1d9e\n-aaaa-\nbbbb');
    expect(wrap('cleanup.policy=compact', 20)).toBe('cleanup.policy=\ncompact');
  });

  it('has no half of a sign, and as many columns as a terminal needs for signs that are two wide', () => {
    expect(wrap(`a${'😀'.repeat(6)}`, 8)).toBe('a😀😀😀\n😀😀😀');
    expect(wrap('注文番号東京', 8)).toBe('注文番号\n東京');
    expect(wrap('e\u0301'.repeat(9), 8)).toBe(`${'e\u0301'.repeat(8)}\ne\u0301`);
    expect(columnWidths([['注文番号', 'abc']], 100)).toEqual([8, 3]);
  });

  it('keeps every character except spaces at the breaks, and no line is too long', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), fc.integer({ min: 1, max: 30 }), (text, width) => {
        const wrapped = wrap(text, width);
        expect(wrapped.replaceAll(/[ \n]/g, '')).toBe(text.replaceAll(/[ \n]/g, ''));
        for (const line of wrapped.split('\n')) expect(line.length).toBeLessThanOrEqual(width);
      }),
    );
  });
});

describe('a text with control characters escaped', () => {
  it.each([
    ['\u001b[2Jgone', '\\u001b[2Jgone'],
    ['a\rb\tc\u0007', 'a\\u000db\\u0009c\\u0007'],
    ['\u009b31m', '\\u009b31m'],
    ['abc\u202egpj.exe', 'abc\\u202egpj.exe'],
    ['pay\u200b-\ufeff1\u3164\u{e0041}', 'pay\\u200b-\\ufeff1\\u3164\\udb40\\udc41'],
    ['Zürich – 東京\nnext', 'Zürich – 東京\nnext'],
  ])('%j', (text, shown) => {
    expect(visible(text)).toBe(shown);
  });
});
