import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningProcess } from '../../support/running-process.ts';
import type { System } from '../system/system.ts';
import { Balancer } from './balancer.ts';

type Member = { readonly process: RunningProcess; readonly takeOut: () => void };

/** Processes of one system behind a balancer, by slots: a process takes over the slot of the one before it. */
export class Fleet implements AsyncDisposable {
  readonly balancer: Balancer;
  readonly #system: System;
  readonly #members: Member[] = [];

  private constructor(system: System, balancer: Balancer) {
    this.#system = system;
    this.balancer = balancer;
  }

  static async start(system: System, size: number): Promise<Fleet> {
    const fleet = new Fleet(system, await Balancer.start());
    await Promise.all(Array.from({ length: size }, (_, slot) => fleet.#fill(slot)));
    return fleet;
  }

  /** As a rolling update does it: SIGTERM, and a new process while the old one ends. Gives the old one's exit code. */
  async restart(slot: number): Promise<number | null> {
    const { process, takeOut } = this.#memberAt(slot);
    const [exitCode] = await Promise.all([process.stop(), this.#fill(slot)]);
    takeOut();
    return exitCode;
  }

  /** SIGKILL after so long, then a new process. */
  async kill(slot: number, afterMs: number): Promise<void> {
    await sleep(afterMs);
    const { process, takeOut } = this.#memberAt(slot);
    process.kill('SIGKILL');
    await process.end();
    takeOut();
    await this.#fill(slot);
  }

  /** Ends all of them; they give Kafka what they took. */
  async stop(): Promise<void> {
    await Promise.all(this.#members.map(({ process }) => process.stop()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.balancer[Symbol.asyncDispose]();
  }

  async #fill(slot: number): Promise<void> {
    const { process, url } = await this.#system.start(slot);
    const readyUrl = `${await process.adminUrl()}/readyz`;
    const takeOut = await this.balancer.add({ port: Number(new URL(url).port), readyUrl });
    this.#members[slot] = { process, takeOut };
  }

  #memberAt(slot: number): Member {
    const member = this.#members[slot];
    if (!member) throw new Error(`nothing runs in slot ${slot}`);
    return member;
  }
}
