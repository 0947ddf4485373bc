import type { IncomingMessage } from 'node:http';
import { LARGE_BODY_BYTES } from '../../core/delivery.ts';
import { HooklineError } from '../../core/errors.ts';
import { SignatureCheck } from '../../crypto/signature.ts';
import type { LiveKeyring } from '../../subscriptions/keyring.ts';
import type { BodyMemory } from './body-memory.ts';
import { CANNOT_PASS, OpenBody, PROVEN, trustOf, UNPROVEN } from './open-bodies.ts';
import type { Pieces } from './pieces.ts';
import { readBody } from './read-body.ts';
import { readLargeBody } from './read-large-body.ts';

/** A request whose body is wanted. */
export type BodyRequest = {
  readonly ref: string;
  readonly raw: IncomingMessage;
  readonly signature: string | undefined;
  /** Its key may come while the body does: then that one decides, not those known now. */
  readonly isEarly: boolean;
  /** Called when the body is wanted: answers `Expect: 100-continue`. */
  readonly wantBody: () => void;
};

export type TakenBody = {
  readonly body: Buffer;
  /** Has seen all of the body. */
  readonly check: SignatureCheck;
  /** What the body holds of memory. */
  readonly open: OpenBody;
  /** Gives its memory back. To be called when nothing of the body is held any more. */
  readonly leave: () => void;
};

type BodyDeps = {
  readonly keyring: LiveKeyring;
  readonly memory: BodyMemory;
  readonly maxBodyBytes: number;
  /** Called when a large body begins to arrive. */
  readonly onLargeBody: () => void;
};

/** How much of a large body must have arrived before it waits for its memory: a body that is only announced gets none. */
const LARGE_BEGINNING_BYTES = 16 * 1024;

/**
 * Receives a body, hashed as it arrives. Memory is charged for what has arrived; a large one waits unread, but for its
 * beginning, until there is memory for all of it. It is refused at once where its ref or its signature can't be right.
 * @throws HooklineError NO_ROOM, UNAUTHENTIC, BODY_INCOMPLETE, BODY_TOO_LARGE, BODY_TOO_SLOW
 */
export async function takeBody(request: BodyRequest, deps: BodyDeps): Promise<TakenBody> {
  const { raw, ref, signature, isEarly } = request;
  const { memory, keyring, maxBodyBytes } = deps;
  const declared = Number(raw.headers['content-length'] ?? Number.NaN);
  const isLarge = declared > LARGE_BODY_BYTES;
  if (!isLarge) memory.throttle.smallCame();
  const keys = keyring.signingKeysOf(ref);
  const cannotPass = () => !isEarly && !SignatureCheck.canPass(keys, signature);
  // 50 MB are not read only so that the answer takes as long as others.
  if (isLarge && cannotPass()) throw new HooklineError('UNAUTHENTIC');
  const { socket } = raw;
  const open = new OpenBody();
  memory.open.add(socket, open);
  let check: SignatureCheck | undefined;
  const onChunk = (chunk: Buffer) => {
    check ??= checkOf(keys, { isLarge, isWhole: chunk.length === declared });
    check.update(chunk);
  };
  const trust = () => trustOf(socket);
  const classify = () => (cannotPass() ? CANNOT_PASS : trust() === 'proven' ? PROVEN : UNPROVEN);
  const max = Math.min(LARGE_BODY_BYTES, maxBodyBytes);
  const limit = isLarge ? LARGE_BEGINNING_BYTES : max;
  const leave = () => memory.arriving.release(open);
  try {
    request.wantBody();
    const reading = { declared, limit, max: declared <= max ? declared : limit, memory, open };
    const read = await readBody(raw, { ...reading, classify, trust, onChunk });
    if ('whole' in read) return { body: read.whole, check: check ?? new SignatureCheck(keys), open, leave };
    if (maxBodyBytes <= LARGE_BODY_BYTES) throw new HooklineError('BODY_TOO_LARGE');
    if (cannotPass()) throw new HooklineError('UNAUTHENTIC');
    deps.onLargeBody();
    // Its beginning is small, and there are only so many that wait.
    if (isLarge) memory.arriving.release(open);
    // An earlier request of its pipeline may have proved its connection since it began.
    open.class = classify();
    // Of unknown length, and large: the memory must suffice for the largest.
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
 * The key that is tried over a whole body when the others don't match takes too long for a large one, and is impossible
 * where nothing is kept: it is tried later only for a body that is there at once.
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
  /** Its length, or the longest that it may be. */
  readonly capacity: number;
  readonly begun: Pieces;
  readonly check: SignatureCheck;
};

/**
 * Waits for its memory and its turn, as long as the sender does. That it has gone is seen only while its socket is read,
 * and so not behind megabytes that it has sent: then it is found when its turn comes, and its memory is free again at once.
 */
async function takeLarge(
  raw: IncomingMessage,
  { memory, open, capacity, begun, check }: LargeBody,
): Promise<TakenBody> {
  const gone = new AbortController();
  const onClose = () => gone.abort();
  raw.socket.once('close', onClose);
  open.end = (error) => gone.abort(error);
  const ticket = memory.throttle.nextTicket(capacity, trustOf(raw.socket));
  let into: Buffer | undefined;
  const leave = () => {
    if (into) memory.giveBack(into);
    memory.releaseLarge(open);
  };
  try {
    await memory.acquireLarge(open, capacity, ticket, gone.signal);
    into = await memory.pieceFor(open, ticket, gone.signal);
    const onChunk = (chunk: Buffer) => check.update(chunk);
    const reading = { into, begun, memory, open, ticket, gone: gone.signal, onChunk };
    return { body: await readLargeBody(raw, reading), check, open, leave };
  } catch (error) {
    begun.release();
    leave();
    throw error;
  } finally {
    memory.throttle.endTicket(ticket);
    raw.socket.off('close', onClose);
  }
}
