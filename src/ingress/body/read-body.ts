import type { IncomingMessage } from 'node:http';
import { HooklineError } from '../../core/errors.ts';
import type { BodyMemory } from './body-memory.ts';
import { costOf, takeWhole } from './counted-request.ts';
import type { ConnectionTrust } from './open-bodies.ts';
import { type BodyClass, CANNOT_PASS, type OpenBody } from './open-bodies.ts';
import { Pieces } from './pieces.ts';
import type { Ticket } from './throttle.ts';

/** What was read of a body: all of it, or its beginning, where it is longer than it may be here. */
export type ReadBody = { readonly whole: Buffer } | { readonly begun: Pieces };

export type Reading = {
  /** Its Content-Length, or NaN. */
  readonly declared: number;
  /** What is longer is paused, and given back as it has begun. */
  readonly limit: number;
  /** The most bytes that may come of it here: it waits for so much memory when memory is short. */
  readonly max: number;
  readonly memory: BodyMemory;
  readonly open: OpenBody;
  /** Asked when the first of several chunks has come. Of a body that cannot pass nothing is kept. */
  readonly classify: () => BodyClass;
  /** How it is read: without turns where proven. Not by its class: the time of an answer must not show whether a body can pass. */
  readonly trust: () => ConnectionTrust;
  /** Is shown each chunk as it arrives. */
  readonly onChunk: (chunk: Buffer) => void;
};

const NOTHING = Buffer.alloc(0);

/**
 * Reads a request's body. One that is there in one chunk is charged with nothing; others are charged for what has arrived,
 * wait where there is no memory, and are read in the turns of large ones where the connection is not proven: a flood of them
 * at full speed leaves others no time. What `open` is charged with stays charged when this resolves.
 * @throws HooklineError BODY_INCOMPLETE where it is cut off, NO_ROOM, BODY_TOO_SLOW
 */
export function readBody(request: IncomingMessage, reading: Reading): Promise<ReadBody> {
  const { declared, limit, memory, open, onChunk } = reading;
  return new Promise((resolve, reject) => {
    let whole: Buffer | undefined;
    let pieces: Pieces | undefined;
    let isOver = false;
    let waiting: AbortController | undefined;
    let ticket: Ticket | undefined;
    const over = () => {
      isOver = true;
      if (ticket) memory.throttle.endTicket(ticket);
    };
    const stop = () => {
      over();
      untake?.();
      request.off('data', onData).off('end', onEnd).off('close', onClose);
    };
    const fail = (error: HooklineError) => {
      if (isOver) return;
      stop();
      pieces?.release();
      memory.arriving.release(open);
      waiting?.abort(error);
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      if (chunk.length === declared && chunk.length <= limit) {
        whole = chunk;
        return onChunk(chunk);
      }
      const now = memory.now();
      open.resume(now);
      open.bytes += chunk.length;
      if (!pieces) open.class = reading.classify();
      pieces ??= new Pieces();
      onChunk(chunk);
      const more = open.class === CANNOT_PASS ? 0 : pieces.push(chunk);
      if (open.bytes > limit) {
        request.pause();
        open.pause(now);
        // It waits elsewhere: what it holds here is little, and is charged whether there is memory or not.
        memory.arriving.addUnchecked(open, more);
        stop();
        resolve({ begun: pieces });
      } else if (!memory.charge(open, more)) {
        if (memory.isSlow(open)) fail(new HooklineError('NO_ROOM'));
        else wait(more + Math.max(0, reading.max - open.bytes));
      } else {
        const cost = costOf(request, chunk.length);
        const trust = reading.trust();
        if (trust === 'proven') return;
        ticket ??= memory.throttle.nextTicket(reading.max, trust);
        if (memory.throttle.consume(cost, ticket, resume, drop)) return;
        request.pause();
        open.pause(now);
      }
    };
    const resume = () => {
      if (isOver) return;
      open.resume(memory.now());
      request.resume();
    };
    const drop = () => fail(new HooklineError('NO_ROOM'));
    const wait = (bytes: number) => {
      request.pause();
      open.pause(memory.now());
      waiting = new AbortController();
      memory.reserve(open, bytes, waiting.signal).then(() => {
        // Ended in the moment in which it was admitted.
        if (isOver) memory.arriving.release(open);
        else resume();
      }, fail);
    };
    // A request that has ended has no more events: its listeners need not be removed.
    const onEnd = () => {
      over();
      resolve({ whole: whole ?? (open.class === CANNOT_PASS ? NOTHING : (pieces?.join() ?? NOTHING)) });
    };
    const onClose = () => {
      if (!isOver) fail(new HooklineError('BODY_INCOMPLETE'));
    };
    open.end = fail;
    const readOn = () => void request.on('data', onData).on('end', onEnd);
    const take = (body: Buffer) => {
      onData(body);
      onEnd();
    };
    const untake = takeWhole(request, { length: declared <= limit ? declared : Number.NaN, take, readOn });
    if (!untake) readOn();
    request.on('close', onClose);
    // What is wrong with the connection shows as its close; an error without a listener would end the process.
    request.on('error', () => {});
  });
}
