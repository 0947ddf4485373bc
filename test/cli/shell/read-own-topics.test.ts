import { describe, expect, it } from 'vitest';
import { watchReadErrors } from '../../../src/cli/shell/read-own-topics.ts';
import { HooklineError } from '../../../src/core/errors.ts';

function watched() {
  const notes: string[] = [];
  const { forbidden, onError } = watchReadErrors(
    { note: (line: string) => notes.push(line) } as never,
    'payments.x',
  );
  return { notes, forbidden, onError };
}

describe('an error of reading a topic', () => {
  it('ends the command if this user may not read the topic, and names the missing right', async () => {
    const { notes, forbidden, onError } = watched();
    onError(new HooklineError('KAFKA_REFUSED', 'payments.x: this user may not read it'));
    await expect(forbidden).rejects.toThrow('payments.x: this user may not read it');
    expect(notes).toEqual([]);
  });

  it('is printed, and the reading continues', async () => {
    const { notes, forbidden, onError } = watched();
    onError(new Error('Connection timeout'));
    expect(notes).toEqual(['payments.x cannot be read, trying again: Connection timeout']);
    expect(await Promise.race([forbidden, 'continues'])).toBe('continues');
  });
});
