import { describe, expect, it } from 'vitest';
import { parseFilter } from '../../src/dead-letters/filter.ts';
import { selectDue } from '../../src/dead-letters/select-due.ts';
import { deadLetter } from '../support/dead-letter.ts';

const foreign = { ...deadLetter({ at: '0:6' }), headers: {} };
const madeUp = {
  ...deadLetter({ at: '0:7' }),
  headers: { ...deadLetter({ at: '0:7' }).headers, '__connect.errors.stage': 'CHECKED' },
};
const all = [
  deadLetter({ at: '0:1' }),
  deadLetter({ at: '0:2', redriven: true }),
  deadLetter({ at: '0:3', dismissed: true }),
  deadLetter({ at: '0:4', missing: [2] }),
  deadLetter({ at: '0:5', stage: 'COMMAND' }),
  foreign,
  madeUp,
];

const selected = (conditions: string[], options = {}) => {
  const { due, ...left } = selectDue(all, parseFilter(conditions), options);
  return { due: due.map(({ at }) => at), ...left };
};

describe('what a redrive or a dismissal is about', () => {
  it('is what is open, without commands and foreign records; the others are counted', () => {
    expect(selected([])).toEqual({ due: ['0:1', '0:4'], unasked: 3, done: 2 });
    expect(selected([], { limit: 1 })).toEqual({ due: ['0:1'], unasked: 3, done: 2 });
  });

  it('begins with what was received first, though it was written later', () => {
    const late = deadLetter({ at: '0:8', time: 9_000, receivedAt: 1 });
    const { due } = selectDue(
      [deadLetter({ at: '0:1', time: 1_000, receivedAt: 900 }), late],
      parseFilter([]),
      {
        limit: 1,
      },
    );
    expect(due.map(({ at }) => at)).toEqual(['0:8']);
  });

  it('is also what was done before, on purpose', () => {
    expect(selected([], { again: true }).due).toEqual(['0:1', '0:2', '0:3', '0:4']);
  });

  it('is a command or a foreign record where the filter names it', () => {
    expect(selected(['stage=COMMAND']).due).toEqual(['0:5']);
    expect(selected(['at=0:5']).due).toEqual(['0:5']);
    expect(selected(['at=0:6']).due).toEqual([]);
    expect(selected(['at=0:6'], { foreign: true }).due).toEqual(['0:6']);
    expect(selected(['stage=FOREIGN']).due).toEqual([]);
    expect(selected(['at=0:7']).due).toEqual([]);
    expect(selected([], { foreign: true }).due).toEqual(['0:1', '0:4']);
  });
});
