/**
 * The client makes two copies of a batch in fresh memory, one for its checksum and one for its socket: beside a record of
 * 75 MB that is 150 MB, some 35,000 page faults, and a collection of V8's that outside memory sets off. A large record's value
 * stands in memory that is free around it instead, where what the wire puts before and behind it is laid.
 */
import { Writer } from '@platformatic/kafka';

type Chunks = { readonly buffers: readonly Buffer[]; readonly length: number };

/** From the first free byte to behind the last, by the memory that a value stands in. */
const rooms = new WeakMap<ArrayBufferLike, { readonly start: number; readonly end: number }>();

/** Lets the thread's clients lay a batch of this one value around it: `room` bytes before and behind it are theirs. */
export function layInPlace({ buffer, byteOffset, length }: Buffer, room: number): void {
  rooms.set(buffer, { start: byteOffset - room, end: byteOffset + length + room });
}

// The one place where the client makes one buffer of many, twice for each batch.
const chunks: object = Object.getPrototypeOf(Writer.create().dynamicBuffer);
const joined = Object.getOwnPropertyDescriptor(chunks, 'buffer')?.get;
if (!joined)
  throw new TypeError('@platformatic/kafka joins the pieces of a request in another way than 2.12 does');
Object.defineProperty(chunks, 'buffer', {
  configurable: true,
  get(this: Chunks): Buffer {
    return joinedInPlace(this) ?? joined.call(this);
  },
});

function joinedInPlace({ buffers, length }: Chunks): Buffer | undefined {
  const at = buffers.findIndex(({ buffer }) => rooms.has(buffer));
  const value = buffers[at];
  const room = value && rooms.get(value.buffer);
  if (!room) return undefined;
  let from = value.byteOffset;
  for (let n = 0; n < at; n++) from -= (buffers[n] as Buffer).length;
  if (from < room.start || from + length > room.end) return undefined;
  const whole = Buffer.from(value.buffer, from, length);
  let to = 0;
  for (const piece of buffers) {
    if (piece !== value) piece.copy(whole, to);
    to += piece.length;
  }
  return whole;
}
