import type { IncomingMessage } from 'node:http';
import { HooklineError } from '../../core/errors.ts';
import type { BodyMemory } from './body-memory.ts';
import type { Standing } from './connection-standing.ts';
import { type BodyClass, HOPELESS, type OpenBody } from './open-body.ts';
import { Pieces } from './pieces.ts';
import type { Place } from './waiting-line.ts';

/** What was read of a body: all of it, or its beginning, where it is longer than it may be here. */
export type ReadBody = { readonly whole: Buffer } | { readonly begun: Pieces };

export type Reading = {
  /** Its Content-Length, or NaN. */
  readonly declared: number;
  /** What is longer is paused, and given back as it has begun. */
  readonly limit: number;
  /** The most that may come of it here: so much memory it waits for when memory is short. */
  readonly most: number;
  readonly memory: BodyMemory;
  readonly open: OpenBody;
  /** Asked when the first of several chunks has come. Of a hopeless body nothing is kept. */
  readonly classify: () => BodyClass;
  /** How it is read: without turns where proven. Not by its class: the time of an answer must not tell a hopeless body. */
  readonly standing: () => Standing;
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
    let place: Place | undefined;
    const over = () => {
      isOver = true;
      if (place) memory.pacer.endPlace();
    };
    const stop = () => {
      over();
      request.off('data', onData).off('end', onEnd).off('close', onClose);
    };
    const fail = (error: HooklineError) => {
      if (isOver) return;
      stop();
      pieces?.release();
      memory.arriving.leave(open);
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
      const more = open.class === HOPELESS ? 0 : pieces.push(chunk);
      if (open.bytes > limit) {
        request.pause();
        open.pause(now);
        // It goes on to wait elsewhere: what it holds here is little, and is charged whether there is room or not.
        memory.arriving.add(open, more);
        stop();
        resolve({ begun: pieces });
      } else if (!memory.charge(open, more)) {
        if (memory.isSlow(open)) fail(new HooklineError('NO_ROOM'));
        else wait(more + Math.max(0, reading.most - open.bytes));
      } else {
        const standing = reading.standing();
        if (standing === 'proven') return;
        place ??= memory.pacer.nextPlace(reading.most, standing);
        if (memory.pacer.take(chunk.length, place, goOn, drop)) return;
        request.pause();
        open.pause(now);
      }
    };
    const goOn = () => {
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
        // Ended in the moment in which it was let in.
        if (isOver) memory.arriving.leave(open);
        else goOn();
      }, fail);
    };
    // A request that has ended has no more events: its listeners go with it, and needn't be taken away.
    const onEnd = () => {
      over();
      resolve({ whole: whole ?? (open.class === HOPELESS ? NOTHING : (pieces?.join() ?? NOTHING)) });
    };
    const onClose = () => {
      if (!isOver) fail(new HooklineError('BODY_INCOMPLETE'));
    };
    open.end = fail;
    request.on('data', onData).on('end', onEnd).on('close', onClose);
    // What is wrong with the connection shows as its close; an error without a listener would end the process.
    request.on('error', () => {});
  });
}
