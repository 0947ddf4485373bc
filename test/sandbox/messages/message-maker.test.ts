import { describe, expect, it } from 'vitest';
import { type MessageSpec, makeMessage } from '../../../src/sandbox/messages/make-message.ts';
import { createMessageMaker } from '../../../src/sandbox/messages/message-maker.ts';

const SPEC: MessageSpec = {
  event: 'payment-status',
  seed: 1,
  startMs: 0,
  type: 'payment-status',
  entities: null,
  status: 'ACCC',
  transactions: 1,
  overrides: null,
  set: {},
  sizeBytes: null,
};
const LARGE = 50 * 1024 * 1024;

describe('large messages', () => {
  it('are made in another thread, and are the same as here', async () => {
    const maker = createMessageMaker();
    const many = { ...SPEC, transactions: 2000 };
    const [apart, small] = await Promise.all([maker.make(many, 3), maker.make(SPEC, 3)]);
    expect(apart.bytes.equals(makeMessage(many, 3).bytes)).toBe(true);
    expect(apart.entityId).toBe(small.entityId);
    await maker.stop();
  });

  it('can have 50 MB', async () => {
    const maker = createMessageMaker();
    const { bytes } = await maker.make({ ...SPEC, sizeBytes: LARGE }, 0);
    expect(bytes.length).toBe(LARGE);
    expect(JSON.parse(bytes.toString('utf8')).payload.status).toBe('ACCC');
    await maker.stop();
  });

  it('are refused there as they are here', async () => {
    const maker = createMessageMaker();
    const spec = { ...SPEC, sizeBytes: 2 << 20, set: { '/entityId/x': 1 } };
    await expect(maker.make(spec, 0)).rejects.toMatchObject({ code: 'invalid_request' });
    await maker.stop();
  });

  it('are given up when the sandbox stops', async () => {
    const maker = createMessageMaker();
    const made = expect(maker.make({ ...SPEC, sizeBytes: LARGE }, 0)).rejects.toThrow('stopping');
    await maker.stop();
    await made;
    await maker.stop();
  });
});
