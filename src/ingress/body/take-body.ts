import type { IncomingMessage } from 'node:http';
import { LARGE_BODY_BYTES } from '../../core/delivery.ts';
import { HooklineError } from '../../core/errors.ts';
import { SignatureCheck } from '../../crypto/signature.ts';
import type { LiveKeyring } from '../../subscriptions/keyring.ts';
import type { BodyMemory } from './body-memory.ts';
import { standingOf } from './connection-standing.ts';
import { HOPELESS, OpenBody, PROVEN, UNPROVED } from './open-bodies.ts';
import { type Pieces, readBody } from './read-body.ts';
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
  /** What the body holds; nobody ends it any more, where nothing else is said. */
  readonly open: OpenBody;
  /** Gives its memory back. To be called when nothing of the body is held any more. */
  readonly leave: () => void;
};

type Parts = {
  readonly keyring: LiveKeyring;
  readonly memory: BodyMemory;
  readonly maxBodyBytes: number;
};

/** So much of a large body must have come before it stands in line for its memory: who only announces it has none. */
const LARGE_BEGINNING_BYTES = 16 * 1024;

/**
 * Takes a body in, hashed as it arrives. Memory is charged for what has arrived; a large one waits unread, but for its
 * beginning, until there is memory for all of it. It is refused at once where its ref or its signature can't be right.
 * @throws HooklineError NO_ROOM, UNAUTHENTIC, BODY_INCOMPLETE, BODY_TOO_LARGE, BODY_TOO_SLOW
 */
export async function takeBody(request: BodyRequest, parts: Parts): Promise<TakenBody> {
  const { raw, ref, signature } = request;
  const { memory, keyring, maxBodyBytes } = parts;
  const declared = Number(raw.headers['content-length'] ?? Number.NaN);
  const isLarge = declared > LARGE_BODY_BYTES;
  const keys = keyring.signingKeysOf(ref);
  // Its key may come while the body does: then it is judged by that one, not by those of this moment.
  const isEarly = keyring.isPending(ref);
  const isHopeless = () => !isEarly && !SignatureCheck.canPass(keys, signature);
  // Fifty megabytes are not read for the sake of an answer that takes as long as others.
  if (isLarge && isHopeless()) throw new HooklineError('UNAUTHENTIC');
  const { socket } = raw;
  const open = new OpenBody();
  memory.open.add(socket, open);
  let check: SignatureCheck | undefined;
  const onChunk = (chunk: Buffer) => {
    check ??= checkOf(keys, { isLarge, isWhole: chunk.length === declared });
    check.update(chunk);
  };
  const standing = () => standingOf(socket);
  const classify = () => (isHopeless() ? HOPELESS : standing() === 'proven' ? PROVEN : UNPROVED);
  const most = Math.min(LARGE_BODY_BYTES, maxBodyBytes);
  const limit = isLarge ? LARGE_BEGINNING_BYTES : most;
  const leave = () => memory.arriving.leave(open);
  try {
    request.wantBody();
    const reading = { declared, limit, most: declared <= most ? declared : limit, memory, open };
    const read = await readBody(raw, { ...reading, classify, standing, onChunk });
    if ('whole' in read) return { body: read.whole, check: check ?? new SignatureCheck(keys), open, leave };
    if (maxBodyBytes <= LARGE_BODY_BYTES) throw new HooklineError('BODY_TOO_LARGE');
    if (isHopeless()) throw new HooklineError('UNAUTHENTIC');
    // Its beginning is small, and there are only so many that wait.
    if (isLarge) memory.arriving.leave(open);
    // Of unknown length, and large as it turns out: all that it may come to must have room.
    const capacity = isLarge ? declared : maxBodyBytes;
    return await takeLarge(raw, {
      memory,
      open,
      capacity,
      begun: read.begun,
      check: check as SignatureCheck,
    });
  } catch (error) {
    leave();
    throw error;
  } finally {
    memory.open.remove(socket, open);
  }
}

/**
 * The key that is tried over a whole body when the others don't match costs a large one too long, and has nothing to be
 * tried over where nothing is kept: only for a body that is there at once it is left for then.
 */
function checkOf(
  keys: ConstructorParameters<typeof SignatureCheck>[0],
  body: { readonly isLarge: boolean; readonly isWhole: boolean },
): SignatureCheck {
  if (body.isLarge) return SignatureCheck.withEach(keys);
  return body.isWhole ? new SignatureCheck(keys) : new SignatureCheck(keys, keys);
}

type LargeBody = {
  readonly memory: BodyMemory;
  readonly open: OpenBody;
  /** Its length, or the most that it may be. */
  readonly capacity: number;
  readonly begun: Pieces;
  readonly check: SignatureCheck;
};

/**
 * Waits for its memory and its turn, as long as the sender does. That it has gone is seen only while its socket is read,
 * and so not behind megabytes that it has sent: then it is found when its turn comes, and its room is free again at once.
 */
async function takeLarge(
  raw: IncomingMessage,
  { memory, open, capacity, begun, check }: LargeBody,
): Promise<TakenBody> {
  const gone = new AbortController();
  const cutOff = () => gone.abort();
  raw.socket.once('close', cutOff);
  open.end = (error) => gone.abort(error);
  const place = memory.pacer.nextPlace(capacity, standingOf(raw.socket));
  let into: Buffer | undefined;
  const leave = () => {
    if (into) memory.giveBack(into);
    memory.leaveLarge(open);
  };
  try {
    await memory.enterLarge(open, capacity, place, gone.signal);
    into = await memory.pieceFor(open, place, gone.signal);
    const onChunk = (chunk: Buffer) => check.update(chunk);
    const reading = { into, begun, memory, open, place, gone: gone.signal, onChunk };
    return { body: await readLargeBody(raw, reading), check, open, leave };
  } catch (error) {
    begun.release();
    leave();
    throw error;
  } finally {
    memory.pacer.endPlace();
    raw.socket.off('close', cutOff);
  }
}
