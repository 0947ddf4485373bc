import { describe, expect, it } from 'vitest';
import { watchReading } from '../../../src/cli/shell/read-own-topics.ts';

function watched() {
  const notes: string[] = [];
  const { forbidden, onBrokenOff } = watchReading(
    { note: (line: string) => notes.push(line) } as never,
    'payments.x',
    { groupPrefix: 'hookline-cli-ledger:' },
  );
  return { notes, forbidden, onBrokenOff };
}

describe('a reading that breaks off', () => {
  it('ends the wait where the topic may not be read, and names the right that is missing', async () => {
    const { notes, forbidden, onBrokenOff } = watched();
    onBrokenOff(new Error('Not authorized to access topics: [Topic authorization failed]'));
    await expect(forbidden).rejects.toThrow(/payments\.x can't be read: .*may this user read payments\.x/);
    expect(notes).toEqual([]);
  });

  it.each([
    ['Failed to find group coordinator', /tried again: .*hookline-cli-ledger:/],
    ['Connection timeout', /tried again: Connection timeout$/],
  ])('is told and goes on where it may come right by itself: %s', async (message, told) => {
    const { notes, forbidden, onBrokenOff } = watched();
    onBrokenOff(new Error(message));
    expect(notes).toEqual([expect.stringMatching(told)]);
    expect(await Promise.race([forbidden, 'goes on'])).toBe('goes on');
  });
});
