import { expect, it } from 'vitest';
import { releaseBytes } from '../../src/core/release-bytes.ts';

it('gives back the memory of a large buffer, also by a part of it, and twice does no harm', () => {
  const large = Buffer.allocUnsafe(2 * Buffer.poolSize);
  releaseBytes(large.subarray(0, 10));
  expect(large.length).toBe(0);
  releaseBytes(large);
});

it('gives back what fills its memory, however small', () => {
  const piece = Buffer.from(new ArrayBuffer(Buffer.poolSize));
  releaseBytes(piece);
  expect(piece.length).toBe(0);
});

it('leaves the pool alone, which small buffers share, and what threads share', () => {
  const small = Buffer.from('small');
  const neighbour = Buffer.from('neighbour');
  expect(small.buffer).toBe(neighbour.buffer);
  releaseBytes(small);
  expect(String(neighbour)).toBe('neighbour');
  const shared = Buffer.from(new SharedArrayBuffer(2 * Buffer.poolSize));
  releaseBytes(shared);
  expect(shared.length).toBe(2 * Buffer.poolSize);
});
