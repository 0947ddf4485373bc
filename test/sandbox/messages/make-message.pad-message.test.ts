import { describe, expect, it } from 'vitest';
import { padMessage } from '../../../src/sandbox/messages/make-message.ts';

describe('padMessage', () => {
  it.each([100, 101, 1 << 20])('fills a message up to exactly %i bytes', (bytes) => {
    const padded = padMessage({ type: 'ä', payload: { status: 'ACCC' } }, bytes);
    expect(padded.length).toBe(bytes);
    const { payload, ...rest } = JSON.parse(padded.toString('utf8'));
    expect(rest).toEqual({ type: 'ä' });
    expect(Object.keys(payload)).toEqual(['status', 'sandboxPadding']);
  });

  it('pads the message itself where the payload is no object', () => {
    expect(JSON.parse(padMessage({ payload: 'x' }, 60).toString())).toMatchObject({ payload: 'x' });
  });

  it('refuses what is too long already, and what is no object', () => {
    expect(() => padMessage({ payload: {} }, 10)).toThrow('it has 33 already');
    expect(() => padMessage([], 10)).toThrow('Only a JSON object');
  });
});
