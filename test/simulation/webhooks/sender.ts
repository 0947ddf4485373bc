import type { Random } from '../../faults/random.ts';
import { Actor, type Simulation } from '../engine/simulation.ts';
import type { Answer, Host } from './host.ts';
import type { Webhook } from './messages.ts';

/** On the way between the provider and us, each way. */
const WAY_MS = 2;
const AGAIN_MS = { least: 200, most: 3_000 };

/** The provider: sends each webhook until it is answered 200, or 4xx. */
export class Sender {
  readonly #simulation: Simulation;
  readonly #host: Host;
  readonly #actor = new Actor('provider');
  readonly #random: Random;
  /** Webhooks whose last answer asks for another try, or is still to come. */
  readonly #left = new Set<number>();

  constructor(simulation: Simulation, host: Host) {
    this.#simulation = simulation;
    this.#host = host;
    this.#random = simulation.random('provider');
  }

  /** Sends it at `at`. */
  plan(webhook: Webhook, at: number): void {
    this.#left.add(webhook.number);
    this.#simulation.after(at - this.#simulation.now, this.#actor, () => this.#send(webhook));
  }

  get isDone(): boolean {
    return this.#left.size === 0;
  }

  get left(): readonly number[] {
    return [...this.#left];
  }

  #send(webhook: Webhook): void {
    let isAnswered = false;
    this.#host.receive(webhook, (answer) => {
      if (isAnswered) return;
      isAnswered = true;
      this.#simulation.after(WAY_MS, this.#actor, () => this.#hear(webhook, answer));
    });
  }

  #hear(webhook: Webhook, answer: Answer): void {
    if (answer !== 'reset' && (answer.status === 200 || (answer.status >= 400 && answer.status < 500))) {
      this.#left.delete(webhook.number);
      return;
    }
    const wait = this.#random.between(AGAIN_MS.least, AGAIN_MS.most);
    this.#simulation.after(wait, this.#actor, () => this.#send(webhook));
  }
}
