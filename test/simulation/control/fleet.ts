import { Actor } from '../engine/simulation.ts';
import { type ControlIncarnation, startControl } from './incarnation.ts';
import type { ControlSite } from './site.ts';

/** Before a pod that has ended is started again. */
const RESTART_MS = 300;
/** Longest orderly end; then it is killed. */
const GRACE_MS = 30_000;

/** A pod of control: runs one process after the other. */
export class ControlPod {
  readonly machine: string;
  current: ControlIncarnation | undefined;
  readonly #site: ControlSite;
  readonly #kubelet = new Actor('pods');
  #actor: Actor | undefined;
  #starts = 0;
  #isStopping = false;

  constructor(site: ControlSite, machine: string) {
    this.#site = site;
    this.machine = machine;
  }

  get actor(): Actor | undefined {
    return this.#actor;
  }

  /** Starts a process, unless one runs. */
  start = (): void => {
    if (this.#actor?.isAlive) return;
    const actor = new Actor(`${this.machine}.${++this.#starts}`, this.machine);
    this.#actor = actor;
    this.#isStopping = false;
    actor.onDeath = () => this.#buried(actor);
    const { simulation } = this.#site;
    const fail = (why: string) => (error: unknown) => {
      if (!actor.isAlive) return;
      simulation.trace.note(actor.name, `${why}: ${(error as Error).message}`);
      this.kill(actor);
    };
    const begin = () => {
      startControl(this.#site, actor, fail('ends')).then((started) => {
        this.current = started;
      }, fail('start failed'));
    };
    simulation.after(0, actor, begin, { what: 'starts' });
  };

  /** As kill -9: nothing that it had begun goes on. */
  kill(actor = this.#actor): void {
    if (!actor?.isAlive) return;
    actor.isAlive = false;
    this.#buried(actor);
  }

  /** As at a SIGTERM; the next process is started behind it. */
  restart(): void {
    const actor = this.#actor;
    const { current } = this;
    if (!actor?.isAlive || !current || this.#isStopping) return;
    this.#isStopping = true;
    const { simulation } = this.#site;
    simulation.after(GRACE_MS, this.#kubelet, () => this.kill(actor), { settles: false });
    const stop = () => void current.stop().then(() => this.kill(actor));
    simulation.after(0, actor, stop, { what: 'SIGTERM' });
  }

  #buried(actor: Actor): void {
    const { simulation, network } = this.#site;
    simulation.trace.note(actor.name, 'is dead');
    this.current = undefined;
    network.closeAllOf(actor);
    simulation.after(RESTART_MS, this.#kubelet, this.start);
  }
}
