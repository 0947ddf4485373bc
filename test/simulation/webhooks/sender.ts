import type { Random } from '../../faults/random.ts';
import { Actor, type Simulation } from '../engine/simulation.ts';
import type { Answer, Host } from './host.ts';
import type { Webhook } from './messages.ts';

/** On the way between the provider and us, each way. */
const WAY_MS = 2;
const AGAIN_MS = { least: 200, most: 3_000 };

type Delivery = { readonly webhook: Webhook };

/** The provider: sends each webhook until it is answered 200, or 4xx. */
export class Sender {
  readonly #simulation: Simulation;
  readonly #host: Host;
  readonly #actor = new Actor('provider');
  readonly #random: Random;
  /** Deliveries whose last answer asks for another try, or is still to come. A webhook that is delivered twice has two. */
  readonly #left = new Set<Delivery>();

  constructor(simulation: Simulation, host: Host) {
    this.#simulation = simulation;
    this.#host = host;
    this.#random = simulation.random('provider');
  }

  /** Sends it at `at`. */
  plan(webhook: Webhook, at: number): void {
    const delivery = { webhook };
    this.#left.add(delivery);
    this.#simulation.after(at - this.#simulation.now, this.#actor, () => this.#send(delivery));
  }

  get isDone(): boolean {
    return this.#left.size === 0;
  }

  get left(): readonly number[] {
    return [...new Set([...this.#left].map(({ webhook }) => webhook.number))];
  }

  #send(delivery: Delivery): void {
    let isAnswered = false;
    this.#host.receive(delivery.webhook, (answer) => {
      if (isAnswered) return;
      isAnswered = true;
      this.#simulation.after(WAY_MS, this.#actor, () => this.#hear(delivery, answer));
    });
  }

  #hear(delivery: Delivery, answer: Answer): void {
    if (answer !== 'reset' && (answer.status === 200 || (answer.status >= 400 && answer.status < 500))) {
      this.#left.delete(delivery);
      return;
    }
    const wait = this.#random.between(AGAIN_MS.least, AGAIN_MS.most);
    this.#simulation.after(wait, this.#actor, () => this.#send(delivery));
  }
}
