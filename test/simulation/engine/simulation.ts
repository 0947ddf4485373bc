import { setImmediate as realSetImmediate } from 'node:timers';
import type { Timer } from '../../../src/runtime/clock.ts';
import { createRandom, type Random } from '../../faults/random.ts';
import { type Due, EventQueue } from './event-queue.ts';
import { Trace } from './trace.ts';

/** Whoever acts: an incarnation of our process, a broker, a sender. What it scheduled does not happen after its death. */
export class Actor {
  readonly name: string;
  /** Where it runs: what concerns the machine's network concerns it. */
  readonly machine: string;
  isAlive = true;
  /** Until then nothing of it runs; see {@link Simulation.freeze}. */
  frozenUntil = 0;
  /** How far its wall clock is from the true one, in milliseconds. */
  wallSkew = 0;
  /** What it waits for: neither happened nor cancelled. Repeated timers, and those that may be left behind, are not counted. */
  pending = 0;
  /** Repeated timers that were not cancelled. */
  repeated = 0;
  /** Called when it has died of its own effect; see {@link Actor.dieAfter}. */
  onDeath: () => void = () => {};
  #effectsLeft = Number.POSITIVE_INFINITY;

  constructor(name: string, machine = name) {
    this.name = name;
    this.machine = machine;
  }

  /** It dies right behind so many more effects: after the call that has one, before anything that follows. */
  dieAfter(effects: number): void {
    this.#effectsLeft = effects;
  }

  /** Something of it is about to have an effect outside. @returns false where it is dead: then it must have none */
  effect(): boolean {
    if (!this.isAlive) return false;
    if (--this.#effectsLeft > 0) return true;
    this.isAlive = false;
    this.onDeath();
    return true;
  }
}

const nothing = () => {};

/** Something that an actor does at some time. */
class SimulatedEvent implements Due, Timer {
  at: number;
  seq: number;
  isCancelled = false;
  readonly actor: Actor;
  work: () => void;
  /** For the trace; not noted where it is undefined. */
  readonly what: string | undefined;
  readonly everyMs: number | undefined;
  readonly counts: boolean;
  /** Whether production code may go on in promises: they run before the next event. */
  readonly settles: boolean;

  constructor(at: number, seq: number, actor: Actor, work: () => void, options: EventOptions) {
    const { what, everyMs, ref = true, settles = true } = options;
    this.at = at;
    this.seq = seq;
    this.actor = actor;
    this.work = work;
    this.what = what;
    this.everyMs = everyMs;
    this.counts = everyMs === undefined && ref;
    this.settles = settles;
  }

  cancel(): void {
    if (this.isCancelled) return;
    this.isCancelled = true;
    // It stays in the queue until it would be due: what it would have called, and all that this holds, is free now.
    this.work = nothing;
    if (this.counts) this.actor.pending--;
    if (this.everyMs !== undefined) this.actor.repeated--;
  }
}

export type EventOptions = {
  /** What it is called in the trace. */
  readonly what?: string;
  readonly everyMs?: number;
  /** false: it may be left behind. */
  readonly ref?: boolean;
  /** false: nothing runs in promises after it, so that the next event may follow at once. */
  readonly settles?: boolean;
};

const PLAIN: EventOptions = {};

/** Many times what a schedule needs. */
const MAX_EVENTS = 400_000;

/** When the simulated time begins, in milliseconds since 1970. */
export const START = Date.UTC(2026, 2, 1);

/**
 * A simulation of one thread in simulated time. One event happens after the other, and after each all promises that can go on
 * do so before the next: the seed decides everything.
 */
export class Simulation {
  /** Milliseconds since the beginning. */
  now = 0;
  /** Whose event is happening: what it opens and schedules by Node's own functions is its own. */
  current: Actor | undefined;
  readonly seed: number;
  readonly trace: Trace;
  /** Errors that nobody handled. */
  readonly unhandled: string[] = [];
  readonly #queue = new EventQueue<SimulatedEvent>();
  /** Of each frozen actor, what was due meanwhile. */
  readonly #held = new Map<Actor, SimulatedEvent[]>();
  readonly #fate = new Actor('time');
  readonly #listening = new Set<() => void>();
  #seq = 0;
  /** How many events have happened. */
  events = 0;

  constructor(seed: number, { keepsLines = false }: { readonly keepsLines?: boolean } = {}) {
    this.seed = seed;
    this.trace = new Trace(this, keepsLines);
  }

  /** A stream of random numbers that only this name and the seed decide. */
  random(stream: string): Random {
    return createRandom(this.seed, stream);
  }

  /** Milliseconds since 1970, as the actor sees them. */
  wall(actor: Actor | undefined = this.current): number {
    return Math.floor(START + this.now + (actor?.wallSkew ?? 0));
  }

  /** Calls `work` after `ms`, as `actor`, if that one is alive then. */
  after(ms: number, actor: Actor, work: () => void, options: EventOptions = PLAIN): Timer {
    const event = new SimulatedEvent(this.now + Math.max(0, ms), ++this.#seq, actor, work, options);
    if (event.counts) actor.pending++;
    if (event.everyMs !== undefined) actor.repeated++;
    this.#queue.push(event);
    return event;
  }

  /**
   * Calls `stop` when the signal is aborted, until the function that it returns is called. One that is aborted never, as those of a
   * process that is dead, would keep all of its simulation: Node keeps some signals for as long as somebody listens.
   */
  onAbort(signal: AbortSignal, stop: () => void): () => void {
    const forget = () => {
      signal.removeEventListener('abort', stop);
      this.#listening.delete(forget);
    };
    signal.addEventListener('abort', stop, { once: true });
    this.#listening.add(forget);
    return forget;
  }

  /** Nothing happens any more. */
  end(): void {
    for (const forget of [...this.#listening]) forget();
  }

  /** Nothing of the actor runs for so long: what is due meanwhile happens afterwards, in its order. */
  freeze(actor: Actor, ms: number): void {
    actor.frozenUntil = Math.max(actor.frozenUntil, this.now + ms);
    if (!this.#held.has(actor)) this.#held.set(actor, []);
    this.after(ms, this.#fate, () => this.#thaw(actor), { settles: false });
  }

  #thaw(actor: Actor): void {
    const held = this.#held.get(actor) ?? [];
    if (actor.frozenUntil > this.now) return;
    this.#held.delete(actor);
    // Before everything else of this time.
    for (const [n, event] of held.entries()) {
      event.at = this.now;
      event.seq = n - held.length;
      this.#queue.push(event);
    }
  }

  /** Lets events happen until the time is over, or there are none. */
  runUntil(end: number, isOver: () => boolean = () => false): Promise<void> {
    // Promises can be run to their end only from below all of them.
    return new Promise((resolve, reject) => {
      realSetImmediate(() => {
        try {
          this.#runUntil(end, isOver);
          resolve();
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  #runUntil(end: number, isOver: () => boolean): void {
    while (!isOver()) {
      if (this.events > MAX_EVENTS) throw new Error(`more than ${MAX_EVENTS} events: a loop without end`);
      const event = this.#queue.pop();
      if (event === undefined) break;
      if (event.at > end) {
        this.#queue.push(event);
        break;
      }
      if (!event.actor.isAlive) continue;
      const held = this.#held.get(event.actor);
      if (held) held.push(event);
      else this.#happen(event);
    }
    if (this.now < end && !isOver()) this.now = end;
  }

  #happen(event: SimulatedEvent): void {
    const { actor, what, everyMs, counts } = event;
    this.now = event.at;
    this.events++;
    if (counts) actor.pending--;
    if (everyMs === undefined) event.isCancelled = true;
    else {
      event.at += everyMs;
      this.#queue.push(event);
    }
    if (what !== undefined) this.trace.note(actor.name, what);
    this.current = actor;
    event.work();
    if (event.settles) settle();
    this.current = undefined;
  }
}

/**
 * Runs every tick and promise that can go on, as Node does it behind each callback of its event loop: its own order of these is
 * the same in each run.
 */
const settle = (process as unknown as { _tickCallback(): void })._tickCallback;
