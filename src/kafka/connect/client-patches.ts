/**
 * Patches of the Kafka clients, applied when this file is imported; each names the version that it is for. Those of kafkajs are
 * in kafkajs-patches.ts, kafkajs-broker-patches.ts and kafkajs-record-patches.ts.
 *
 * @platformatic/kafka 2.12.1 makes one buffer of a batch's pieces twice in fresh memory: for its
 * checksum, and for its socket. Here the second finds what the first one joined: a quarter less work for each small record.
 * Beside a record of 75 MB both would be 150 MB, some 35,000 page faults, and a collection that V8 starts because of
 * memory outside of its heap. Such a record's value is in memory that is free around it instead, where the wire's pieces
 * before and behind it are laid.
 *
 * It makes three objects of each header of a record, of which a megabyte can have 200,000: half a second of the thread, each time that
 * somebody reads it. Here those beyond the first hundred are passed over.
 */

// Before the clients.
import './unused-validators.ts';
import './kafkajs-patches.ts';
import './kafkajs-broker-patches.ts';
import './kafkajs-record-patches.ts';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Reader, Writer } from '@platformatic/kafka';
import { MAX_HEADERS } from '../../core/record-headers.ts';
import { compileAgain } from './unused-validators.ts';

const require = createRequire(import.meta.url);

/** @throws TypeError where another version is installed than the one that the patches are for */
export function checkVersion(client: string, expected: string, folder = folderOf(client)): void {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version?: string };
  if (version === expected) return;
  throw new TypeError(
    `${client} is ${version}, and Hookline's patches are for ${expected}: see src/kafka/connect/client-patches.ts for what they do, and whether this version still needs them`,
  );
}

/** The folder of an installed package, whatever its `exports` hide. */
function folderOf(client: string): string {
  const entry = require.resolve(client);
  return entry.slice(
    0,
    entry.lastIndexOf(join('node_modules', client)) + join('node_modules', client).length,
  );
}

checkVersion('@platformatic/kafka', '2.12.1');
checkVersion('kafkajs', '2.2.4');
compileAgain();

type Pieces = { buffers: Buffer[]; readonly length: number };

/** From the first free byte to behind the last, by the memory that a value is in; undefined before the first one. */
let spaces: WeakMap<ArrayBufferLike, { readonly start: number; readonly end: number }> | undefined;

/** Lets the thread's clients lay a batch of this one value around it: `headroom` bytes before and behind it are theirs. */
export function layInPlace({ buffer, byteOffset, length }: Buffer, headroom: number): void {
  spaces ??= new WeakMap();
  spaces.set(buffer, { start: byteOffset - headroom, end: byteOffset + length + headroom });
}

// The one place where the client makes one buffer of many, twice for each batch.
const pieces: object = Object.getPrototypeOf(Writer.create().dynamicBuffer);
const joined = Object.getOwnPropertyDescriptor(pieces, 'buffer')?.get;
if (!joined)
  throw new TypeError('@platformatic/kafka joins the pieces of a request in another way than 2.12.1 does');
Object.defineProperty(pieces, 'buffer', {
  configurable: true,
  get(this: Pieces): Buffer {
    const whole = joinedInPlace(this) ?? (joined.call(this) as Buffer);
    if (this.buffers.length > 1) this.buffers = [whole];
    return whole;
  },
});

function joinedInPlace({ buffers, length }: Pieces): Buffer | undefined {
  const known = spaces;
  if (!known) return undefined;
  const at = buffers.findIndex(({ buffer }) => known.has(buffer));
  const value = buffers[at];
  const space = value && known.get(value.buffer);
  if (!space) return undefined;
  let from = value.byteOffset;
  for (let n = 0; n < at; n++) from -= (buffers[n] as Buffer).length;
  if (from < space.start || from + length > space.end) return undefined;
  const whole = Buffer.from(value.buffer, from, length);
  let to = 0;
  for (const piece of buffers) {
    if (piece !== value) piece.copy(whole, to);
    to += piece.length;
  }
  return whole;
}

const skipSized = (reader: Reader): void => void reader.skip(Math.max(0, reader.readVarInt()));

// Nothing else in it reads such an array.
Reader.prototype.readVarIntArray = function <T>(this: Reader, read: (reader: Reader, n: number) => T): T[] {
  const length = this.readVarInt();
  const kept: T[] = [];
  while (kept.length < Math.min(length, MAX_HEADERS)) kept.push(read(this, kept.length));
  for (let left = length - kept.length; left > 0; left--) {
    skipSized(this);
    skipSized(this);
  }
  return kept;
};
