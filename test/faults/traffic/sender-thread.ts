import { Worker } from 'node:worker_threads';
import { Answers } from './answers.ts';
import type { Sent, Traffic } from './sender.ts';

export type Order =
  | { readonly id: number; readonly do: 'progress'; readonly since: number }
  | { readonly id: number; readonly do: 'stop' };

export type Progress = { readonly acked: number; readonly isRecovered: boolean };

export type Report =
  | ({ readonly id: number } & Progress)
  | ({ readonly id: number; readonly rows: Answers['rows'] } & Omit<Sent, 'answers'>);

type Ask = { do: 'progress'; since: number } | { do: 'stop' };

/** A {@link Sender} that runs in a thread of its own. */
export class SenderThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, PromiseWithResolvers<Report>>();
  #orders = 0;

  constructor(traffic: Traffic) {
    this.#worker = new Worker(new URL('./sender-worker.ts', import.meta.url), { workerData: traffic });
    this.#worker.on('message', (report: Report) => this.#waiting.get(report.id)?.resolve(report));
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', () => this.#fail(new Error('the sender has ended')));
  }

  /** How it stands; `since` in milliseconds since 1970. */
  async progress(since = 0): Promise<Progress> {
    const report = await this.#order({ do: 'progress', since });
    if (!('acked' in report)) throw new Error('the sender answered something else');
    return report;
  }

  async stop(): Promise<Sent> {
    const report = await this.#order({ do: 'stop' });
    if (!('rows' in report)) throw new Error('the sender answered something else');
    const { rows, tampered, errors, wrongIds } = report;
    return { answers: Answers.of(rows), tampered, errors, wrongIds };
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #order(ask: Ask): Promise<Report> {
    const id = ++this.#orders;
    const waiting = Promise.withResolvers<Report>();
    this.#waiting.set(id, waiting);
    this.#worker.postMessage({ id, ...ask });
    return waiting.promise.finally(() => this.#waiting.delete(id));
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error);
  }
}
