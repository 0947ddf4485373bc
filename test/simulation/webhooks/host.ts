import type { Receipt } from '../../../src/core/delivery.ts';
import type { HooklineError } from '../../../src/core/errors.ts';
import { errorAnswer } from '../../../src/ingress/answers.ts';
import { Actor } from '../engine/simulation.ts';
import type { Webhook } from './messages.ts';
import type { Receiver, StartReceiver } from './receiver.ts';
import type { Site } from './site.ts';

/** What the sender gets: a status, or nothing because the connection broke. */
export type Answer =
  | { readonly status: number; readonly receipt?: Receipt; readonly code?: string }
  | 'reset';

/** One request, as the process saw it. */
export type Attempt = {
  readonly webhook: Webhook;
  /** Counts the requests that arrived at any incarnation. */
  readonly arrival: number;
  readonly arrivedAt: number;
  /** Milliseconds since 1970, by the clock of the process, when that took it; 0 where it did not. */
  receivedAt: number;
  readonly incarnation: string;
  answer: Answer | undefined;
  answeredAt: number;
};

/** Before a pod that has ended is started again. */
const RESTART_MS = 300;
/** Longest orderly end; then it is killed. */
const GRACE_MS = 30_000;

/** The pod: runs one incarnation of ingress after the other on one volume. */
export class Host {
  readonly attempts: Attempt[] = [];
  current: Receiver | undefined;
  readonly #site: Site;
  readonly #startReceiver: StartReceiver;
  /** What starts and kills the process. */
  readonly #kubelet = new Actor('pod');
  #actor: Actor | undefined;
  #starts = 0;
  /** Attempts that the process has not answered, and how their sender is told. */
  readonly #open = new Map<Attempt, (answer: Answer) => void>();
  #onIdle: (() => void) | undefined;
  #isStopping = false;

  constructor(site: Site, startReceiver: StartReceiver) {
    this.#site = site;
    this.#startReceiver = startReceiver;
  }

  /** Starts an incarnation, unless one runs. */
  start = (): void => {
    if (this.#actor?.isAlive) return;
    const actor = new Actor(`ingress-${++this.#starts}`);
    this.#actor = actor;
    this.#isStopping = false;
    actor.onDeath = () => this.#buried(actor);
    const begin = () => {
      this.#startReceiver(this.#site, actor).then(
        (incarnation) => {
          this.current = incarnation;
        },
        (error) => {
          this.#site.simulation.trace.note(actor.name, `start failed: ${(error as Error).message}`);
          this.#kill(actor);
        },
      );
    };
    this.#site.simulation.after(0, actor, begin, { what: 'starts' });
  };

  /** As kill -9: nothing that it had begun goes on. */
  crash(): void {
    if (this.#actor) this.#kill(this.#actor);
  }

  /** It dies right behind so many more effects: a write to a socket, to the disk or to the object store. */
  crashAfter(effects: number): void {
    this.#actor?.dieAfter(effects);
  }

  /** Nothing of it runs for a while: a stopped process, a long collection, a machine that is moved. */
  freeze(ms: number): void {
    if (this.#actor) this.#site.simulation.freeze(this.#actor, ms);
  }

  jumpClock(ms: number): void {
    if (this.#actor) this.#actor.wallSkew += ms;
  }

  /** As a rolling restart: requests in progress are answered first. */
  restart(): void {
    const actor = this.#actor;
    const { current } = this;
    if (!actor?.isAlive || !current || this.#isStopping) return;
    this.#isStopping = true;
    const { simulation } = this.#site;
    simulation.after(GRACE_MS, this.#kubelet, () => this.#kill(actor));
    const end = () => current.stop().then(() => this.#kill(actor));
    const stop = () => {
      if (this.#open.size === 0) void end();
      else this.#onIdle = () => void end();
    };
    simulation.after(0, actor, stop, { what: 'SIGTERM' });
  }

  /** A request arrives. `tell` is called with its answer when that has arrived back. */
  receive(webhook: Webhook, tell: (answer: Answer) => void): void {
    const { current } = this;
    const { simulation } = this.#site;
    const actor = this.#actor;
    if (!actor?.isAlive || !current || this.#isStopping) return tell('reset');
    const attempt: Attempt = {
      webhook,
      arrival: this.attempts.length,
      arrivedAt: simulation.now,
      incarnation: actor.name,
      answer: undefined,
      answeredAt: 0,
      receivedAt: 0,
    };
    this.attempts.push(attempt);
    this.#open.set(attempt, tell);
    const what = `webhook ${webhook.number} ${webhook.key}`;
    simulation.after(0, actor, () => this.#handle(current, actor, attempt), { what });
  }

  get openAttempts(): number {
    return this.#open.size;
  }

  #handle(current: Receiver, actor: Actor, attempt: Attempt): void {
    const answer = (given: Answer) => {
      if (!actor.isAlive) return;
      const shown = given === 'reset' ? given : `${given.status} ${given.receipt?.stored ?? given.code}`;
      this.#site.simulation.trace.note(actor.name, `answers ${attempt.webhook.number}: ${shown}`);
      this.#settle(attempt, given);
      if (this.#open.size === 0) this.#onIdle?.();
    };
    attempt.receivedAt = this.#site.simulation.wall(actor);
    current.receive(attempt.webhook).then(
      (receipt) => answer({ status: 200, receipt }),
      (error) => answer({ status: errorAnswer(error).status, code: (error as HooklineError).code }),
    );
  }

  #settle(attempt: Attempt, given: Answer): void {
    attempt.answer = given;
    attempt.answeredAt = this.#site.simulation.now;
    const tell = this.#open.get(attempt);
    this.#open.delete(attempt);
    tell?.(given);
  }

  #kill(actor: Actor): void {
    if (!actor.isAlive) return;
    actor.isAlive = false;
    this.#buried(actor);
  }

  #buried(actor: Actor): void {
    const { simulation, network, volume } = this.#site;
    simulation.trace.note(actor.name, 'is dead');
    this.current = undefined;
    this.#onIdle = undefined;
    network.closeAllOf(actor);
    volume.crash();
    for (const attempt of [...this.#open.keys()]) this.#settle(attempt, 'reset');
    simulation.after(RESTART_MS, this.#kubelet, this.start);
  }
}
