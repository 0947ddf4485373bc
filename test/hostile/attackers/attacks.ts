import { setTimeout as sleep } from 'node:timers/promises';
import type { AttackPlan } from './plan.ts';
import type { Tally } from './tally.ts';

type Plan<K extends AttackPlan['kind']> = Extract<AttackPlan, { kind: K }>;

/** A connection that was closed is opened again after so long: attackers are not meant to use up the machine. */
const REOPEN_MS = 50;
const DRIP_EVERY_MS = 250;
const ZEROS = Buffer.alloc(256 * 1024);

export function hold(plan: Plan<'hold'>, tally: Tally): void {
  const first = Buffer.from(plan.first, 'base64');
  const drip = ZEROS.subarray(0, Math.round((plan.bytesPerSecond * DRIP_EVERY_MS) / 1_000));
  const open = () => {
    const socket = tally.open(plan.port);
    tally.read(socket);
    socket.write(first);
    const timer = drip.length > 0 ? setInterval(() => socket.write(drip), DRIP_EVERY_MS) : undefined;
    socket.once('close', () => {
      clearInterval(timer);
      if (!tally.stopping) setTimeout(open, plan.reopenMs ?? REOPEN_MS);
    });
  };
  for (let n = 0; n < plan.connections; n++) open();
}

export function flood(plan: Plan<'flood'>, tally: Tally): void {
  const head = Buffer.from(plan.head, 'base64');
  const open = () => {
    const socket = tally.open(plan.port);
    let left = 0;
    const write = () => {
      while (left > 0 && !socket.destroyed) {
        const piece = ZEROS.subarray(0, Math.min(left, ZEROS.length));
        left -= piece.length;
        if (!socket.write(piece)) return;
      }
    };
    const send = () => {
      left = plan.bodyBytes;
      socket.write(head);
      write();
    };
    socket.on('drain', write);
    // An answer that came before the body was sent: what is owed is sent, or the next request would be a part of it.
    let answered = false;
    const next = () => {
      if (left > 0) return void setImmediate(next);
      answered = false;
      if (!socket.destroyed) send();
    };
    tally.read(socket, () => {
      if (answered) return;
      answered = true;
      next();
    });
    socket.once('close', () => {
      left = 0;
      if (!tally.stopping) setTimeout(open, REOPEN_MS);
    });
    send();
  };
  for (let n = 0; n < plan.connections; n++) open();
}

/** In groups of `connections` at once, until all are done. */
async function inGroups(
  plan: Plan<'reset' | 'cut-off'>,
  tally: Tally,
  one: (first: Buffer) => Promise<void>,
): Promise<void> {
  const first = Buffer.from(plan.first, 'base64');
  for (let done = 0; done < plan.count && !tally.stopping; done += plan.connections) {
    const size = Math.min(plan.connections, plan.count - done);
    await Promise.all(Array.from({ length: size }, () => one(first)));
  }
}

export function reset(plan: Plan<'reset'>, tally: Tally): Promise<void> {
  return inGroups(plan, tally, async (first) => {
    const socket = tally.open(plan.port);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    // Once the bytes are with the system: the reset is behind them.
    socket.write(first, () => socket.resetAndDestroy());
    await Promise.race([closed, sleep(5_000)]);
  });
}

export function cutOff(plan: Plan<'cut-off'>, tally: Tally): Promise<void> {
  return inGroups(plan, tally, async (first) => {
    const socket = tally.open(plan.port);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    tally.read(socket);
    socket.end(first);
    await Promise.race([closed, sleep(10_000)]);
  });
}

export function deaf(plan: Plan<'deaf'>, tally: Tally): void {
  const request = Buffer.from(plan.request, 'base64');
  const open = () => {
    const socket = tally.open(plan.port);
    socket.pause();
    const write = () => {
      while (!socket.destroyed && socket.write(request));
    };
    socket.on('drain', write);
    socket.once('connect', write);
    socket.once('close', () => {
      if (!tally.stopping) setTimeout(open, REOPEN_MS);
    });
  };
  for (let n = 0; n < plan.connections; n++) open();
}
