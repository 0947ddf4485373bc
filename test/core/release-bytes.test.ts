import { expect, it } from 'vitest';
import { releaseBytes } from '../../src/core/release-bytes.ts';

it('gives back the memory of a large buffer, also by a part of it, and twice does no harm', () => {
  const large = Buffer.allocUnsafe(2 * Buffer.poolSize);
  releaseBytes(large.subarray(0, 10));
  expect(large.length).toBe(0);
  releaseBytes(large);
});

it('leaves the pool alone, which small buffers share', () => {
  const [small, neighbour] = [Buffer.from('small'), Buffer.from('neighbour')];
  expect(small.buffer).toBe(neighbour.buffer);
  releaseBytes(small);
  expect(String(neighbour)).toBe('neighbour');
});
