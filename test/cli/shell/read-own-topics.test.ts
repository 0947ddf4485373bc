import { describe, expect, it } from 'vitest';
import { watchReadErrors } from '../../../src/cli/shell/read-own-topics.ts';

function watched() {
  const notes: string[] = [];
  const { forbidden, onError } = watchReadErrors(
    { note: (line: string) => notes.push(line) } as never,
    'payments.x',
    { groupPrefix: 'hookline-cli-ledger:' },
  );
  return { notes, forbidden, onError };
}

describe('an error of reading a topic', () => {
  it('ends the command if this user may not read the topic, and names the missing right', async () => {
    const { notes, forbidden, onError } = watched();
    onError(new Error('Not authorized to access topics: [Topic authorization failed]'));
    await expect(forbidden).rejects.toThrow(/payments\.x cannot be read: .*this user may read payments\.x/);
    expect(notes).toEqual([]);
  });

  it.each([
    ['Failed to find group coordinator', /trying again: .*hookline-cli-ledger:/],
    ['Connection timeout', /trying again: Connection timeout$/],
  ])('is printed, and the reading continues: %s', async (message, printed) => {
    const { notes, forbidden, onError } = watched();
    onError(new Error(message));
    expect(notes).toEqual([expect.stringMatching(printed)]);
    expect(await Promise.race([forbidden, 'continues'])).toBe('continues');
  });
});
