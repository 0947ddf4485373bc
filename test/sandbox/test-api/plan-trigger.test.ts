import { describe, expect, it } from 'vitest';
import { stage } from '../support/stage.ts';

describe('a trigger', () => {
  const refused: [string, object, string][] = [
    ['an unknown field', { colour: 'red' }, 'The body has no field "colour".'],
    ['an unknown event', { event: 'loans' }, '/event must be one of payment-status, payment_status,'],
    ['a count of another type', { count: '5' }, '/count must be integer.'],
    ['a rate of nought', { rate: 0 }, '/rate must be > 0.'],
    ['an unknown layout', { sealed: true, layout: 'rot13' }, '"rot13" is not a layout: use'],
    ['a header of the transport', { headers: { 'content-length': '1' } }, 'is set by the transport'],
    ['a header of no kind', { headers: { 'x y': '1' } }, 'is not a header name'],
    ['a header of two lines', { headers: { x: 'a\r\nb: c' } }, 'printable ASCII'],
    ['a pointer that is none', { set: { entityId: 'x' } }, '/set'],
    ['a raw body that is padded', { rawBody: 'x', sizeBytes: 5 }, 'A raw body is sent as it is'],
    ['too few bytes', { sizeBytes: 5 }, 'cannot be padded to 5 bytes'],
    [
      'a payload layout without payload',
      { rawBody: '{}', sealed: true, layout: 'payload/json' },
      'needs a message',
    ],
  ];
  it.each(refused)('refuses %s', async (_name, json, message) => {
    await using on = await stage();
    const answer = await on.sandbox.trigger(json);
    expect([answer.status, answer.json.error]).toEqual([400, 'invalid_request']);
    expect(answer.json.message).toContain(message);
    expect(on.received).toEqual([]);
  });

  it('refuses to seal for a subscription without a key, unless the key is to be wrong', async () => {
    await using on = await stage({ seed: { encryptionKey: null } });
    const answer = await on.sandbox.trigger({ sealed: true });
    expect([answer.status, answer.json.error]).toEqual([409, 'conflict']);
    expect((await on.sandbox.trigger({ wrongKey: true })).status).toBe(202);
  });
});
