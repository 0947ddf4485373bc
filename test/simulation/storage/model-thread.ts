import { type Answer, type Call, toError, type WorkerDeps } from '../../../src/runtime/worker-calls.ts';
import type { SpoolCalls } from '../../../src/spool/spool.ts';
import type { SpoolAnswer, SpoolRequest, SpoolState, ThreadOptions } from '../../../src/spool/spool-row.ts';
import { SpoolWork } from '../../../src/spool/spool-work.ts';
import type { Actor, Simulation } from '../engine/simulation.ts';
import { ModelSpoolFile, type ModelVolume } from './model-volume.ts';

/** A thread starts, and the file is opened and looked through. */
const OPENS_MS = 100;

/**
 * The spool's thread without a thread: calls of one turn cross together, what it does takes the time that the disk needs,
 * and meanwhile others wait. What it does with them is the production code's.
 */
export class ModelThread implements SpoolCalls {
  isEnded = false;
  readonly #simulation: Simulation;
  readonly #actor: Actor;
  readonly #volume: ModelVolume;
  readonly #deps: WorkerDeps<SpoolState>;
  readonly #work: SpoolWork;
  readonly #waiting = new Map<number, PromiseWithResolvers<SpoolAnswer>>();
  #outbox: Call<SpoolRequest>[] = [];
  #n = 0;

  constructor(simulation: Simulation, actor: Actor, volume: ModelVolume, deps: WorkerDeps<SpoolState>) {
    this.#simulation = simulation;
    this.#actor = actor;
    this.#volume = volume;
    this.#deps = deps;
    this.#work = new SpoolWork({
      options: deps.options.workerData as ThreadOptions,
      openFile: (options) => new ModelSpoolFile(volume, options),
      port: { answer: (answers, { events = [] } = {}) => this.#answer(answers, events), close: () => {} },
    });
  }

  call(request: SpoolRequest): Promise<SpoolAnswer> {
    return this.isEnded ? Promise.reject(this.#deps.failure()) : this.#send(request);
  }

  async close(request: SpoolRequest): Promise<void> {
    if (this.isEnded) return;
    this.isEnded = true;
    await this.#send(request);
  }

  async terminate(): Promise<void> {
    this.isEnded = true;
    for (const { reject } of this.#waiting.values()) reject(this.#deps.failure());
    this.#waiting.clear();
  }

  #send(request: SpoolRequest): Promise<SpoolAnswer> {
    const waiting = Promise.withResolvers<SpoolAnswer>();
    this.#waiting.set(++this.#n, waiting);
    if (this.#outbox.push({ n: this.#n, request }) === 1) this.#executeLater();
    return waiting.promise;
  }

  #executeLater(): void {
    const isFirst = this.#n === 1;
    const wait = Math.max(isFirst ? OPENS_MS : 0.02, this.#volume.busyUntil - this.#simulation.now);
    this.#simulation.after(wait, this.#actor, () => {
      // Answers of what came before took longer than was known.
      if (this.#volume.busyUntil > this.#simulation.now) return this.#executeLater();
      const calls = this.#outbox;
      this.#outbox = [];
      this.#simulation.trace.note(this.#actor.name, `spool ${calls.map(({ request }) => request.kind)}`);
      if (this.#actor.effect()) this.#work.execute(calls);
    });
  }

  #answer(answers: readonly Answer<SpoolAnswer>[], events: readonly SpoolState[]): void {
    const wait = Math.max(0, this.#volume.busyUntil - this.#simulation.now) + 0.02;
    this.#simulation.after(wait, this.#actor, () => {
      for (const event of events) this.#deps.onEvent(event);
      for (const answer of answers) {
        const waiting = this.#waiting.get(answer.n);
        this.#waiting.delete(answer.n);
        if ('fault' in answer) waiting?.reject(toError(answer.fault));
        else waiting?.resolve(answer.result);
      }
    });
  }
}
