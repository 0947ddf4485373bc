import { describe, expect, it } from 'vitest';
import { correlationIdOf, type RequestHead, RequestWatch, ResponseCutter } from './kafka-frames.ts';

function request(apiKey: number, correlationId: number, clientId: string | null, bodyLength: number): Buffer {
  const name = Buffer.from(clientId ?? '');
  const frame = Buffer.alloc(14 + name.length + bodyLength, 7);
  frame.writeInt32BE(frame.length - 4, 0);
  frame.writeInt16BE(apiKey, 4);
  frame.writeInt16BE(9, 6);
  frame.writeInt32BE(correlationId, 8);
  frame.writeInt16BE(clientId === null ? -1 : name.length, 12);
  name.copy(frame, 14);
  return frame;
}

function response(correlationId: number, bodyLength: number): Buffer {
  const frame = Buffer.alloc(8 + bodyLength, 9);
  frame.writeInt32BE(frame.length - 4, 0);
  frame.writeInt32BE(correlationId, 4);
  return frame;
}

const inPieces = (bytes: Buffer, size: number) =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size));

const PIECES = [1, 3, 13, 14, 15, 40, 1_000, 1_000_000];

describe('frames of the Kafka protocol', () => {
  it.each(PIECES)('requests are seen with their key, id and client, in pieces of %i bytes', (size) => {
    const stream = Buffer.concat([
      request(0, 1, 'hookline-ingress', 5_000),
      request(3, 2, null, 0),
      request(18, 3, '', 1),
      request(0, 4, 'x'.repeat(200), 10),
    ]);
    const seen: RequestHead[] = [];
    const watch = new RequestWatch((head) => seen.push(head));
    for (const piece of inPieces(stream, size)) watch.see(piece);
    expect(seen).toEqual([
      { apiKey: 0, correlationId: 1, clientId: 'hookline-ingress' },
      { apiKey: 3, correlationId: 2, clientId: '' },
      { apiKey: 18, correlationId: 3, clientId: '' },
      { apiKey: 0, correlationId: 4, clientId: 'x'.repeat(64) },
    ]);
  });

  it.each(PIECES)('responses come out whole and in order, in pieces of %i bytes', (size) => {
    const whole = [response(7, 0), response(8, 3_000), response(9, 2)];
    const cutter = new ResponseCutter();
    const out = inPieces(Buffer.concat(whole), size).flatMap((piece) => cutter.cut(piece));
    expect(out).toEqual(whole);
    expect(out.map(correlationIdOf)).toEqual([7, 8, 9]);
  });
});
