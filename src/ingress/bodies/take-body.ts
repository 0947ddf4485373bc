import type { IncomingMessage } from 'node:http';
import { HooklineError } from '../../core/errors.ts';
import { SignatureCheck } from '../../crypto/signature.ts';
import { LARGE_BODY_BYTES } from '../../delivery/large-delivery.ts';
import type { LiveKeyring } from '../../subscriptions/live-keyring.ts';
import type { BodyMemory } from './body-memory.ts';
import { readBody } from './read-body.ts';
import { readLargeBody } from './read-large-body.ts';

/** A request whose body is wanted. */
export type BodyRequest = {
  readonly ref: string;
  readonly raw: IncomingMessage;
  readonly signature: string | undefined;
  /** Called when the body is wanted: answers `Expect: 100-continue`. */
  readonly wantBody: () => void;
};

export type TakenBody = {
  readonly body: Buffer;
  /** Has seen all of the body. */
  readonly check: SignatureCheck;
  /** Gives its room back. To be called when nothing of the body is held any more. */
  readonly leave: () => void;
};

type Parts = {
  readonly keyring: LiveKeyring;
  readonly memory: BodyMemory;
  readonly maxBodyBytes: number;
};

/**
 * Takes a body in, hashed as it arrives, when there is room for it. A large one is not begun to be read before, and not
 * at all where its ref or its signature can't be right.
 * @throws HooklineError NO_ROOM, UNAUTHENTIC, BODY_INCOMPLETE, BODY_TOO_LARGE
 */
export async function takeBody(request: BodyRequest, parts: Parts): Promise<TakenBody> {
  const { raw, ref } = request;
  const { memory, keyring, maxBodyBytes } = parts;
  const declared = Number(raw.headers['content-length'] ?? Number.NaN);
  if (declared > LARGE_BODY_BYTES) return takeLarge(request, parts, declared, []);
  const bytes = Number.isNaN(declared) ? LARGE_BODY_BYTES : declared;
  if (!memory.small.tryEnter(bytes)) await waitFor(raw, (gone) => memory.enterSmall(bytes, gone));
  try {
    request.wantBody();
    const check = new SignatureCheck(keyring.signingKeysOf(ref));
    const limit = Math.min(LARGE_BODY_BYTES, maxBodyBytes);
    const read = await readBody(raw, limit, (chunk) => check.update(chunk));
    if ('whole' in read) return { body: read.whole, check, leave: () => memory.small.leave(bytes) };
    if (maxBodyBytes <= LARGE_BODY_BYTES) throw new HooklineError('BODY_TOO_LARGE');
    // Of unknown length, and large as it turns out: all that it may come to must have room.
    const taken = await takeLarge(request, parts, maxBodyBytes, read.begun);
    memory.small.leave(bytes);
    return taken;
  } catch (error) {
    memory.small.leave(bytes);
    throw error;
  }
}

/** @param capacity its length, or the most that it may be */
async function takeLarge(
  request: BodyRequest,
  { keyring, memory }: Parts,
  capacity: number,
  begun: readonly Buffer[],
): Promise<TakenBody> {
  const { raw, ref, signature } = request;
  // Fifty megabytes are not read for the sake of an answer that takes as long as others.
  if (!keyring.isPending(ref) && !SignatureCheck.canPass(keyring.signingKeysOf(ref), signature)) {
    throw new HooklineError('UNAUTHENTIC');
  }
  await waitFor(raw, (gone) => memory.enterLarge(capacity, gone));
  let into: Buffer | undefined;
  const leave = () => {
    if (into) memory.giveBack(into);
    memory.large.leave(capacity);
  };
  try {
    request.wantBody();
    const given = await waitFor(raw, (gone) => memory.placeFor(capacity, gone));
    into = given.into;
    const check = SignatureCheck.withEach(keyring.signingKeysOf(ref));
    const onChunk = (chunk: Buffer) => check.update(chunk);
    const body = await readLargeBody(raw, { ...given, begun, pacer: memory.pacer, onChunk });
    return { body, check, leave };
  } catch (error) {
    leave();
    throw error;
  }
}

/**
 * Waits, as long as the sender does. That it has gone is seen only while its socket is read, and so not behind megabytes
 * that it has sent: then it is found when its turn comes, and its room is free again at once.
 */
async function waitFor<T>(raw: IncomingMessage, wait: (gone: AbortSignal) => Promise<T>): Promise<T> {
  const gone = new AbortController();
  const leave = () => gone.abort();
  raw.socket.once('close', leave);
  try {
    return await wait(gone.signal);
  } finally {
    raw.socket.off('close', leave);
  }
}
