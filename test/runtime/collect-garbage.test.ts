import { expect, it } from 'vitest';
import { collectGarbage } from '../../src/runtime/collect-garbage.ts';

const BYTES = 50_000_000;

function holdAndForget(): number {
  const held = Buffer.alloc(BYTES);
  const { arrayBuffers } = process.memoryUsage();
  return held.length === BYTES ? arrayBuffers : 0;
}

it('frees memory outside of the heap that nothing but dead objects held', () => {
  const held = holdAndForget();
  collectGarbage();
  expect(process.memoryUsage().arrayBuffers).toBeLessThan(held - 0.9 * BYTES);
});
