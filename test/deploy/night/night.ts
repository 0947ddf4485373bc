import { inject } from 'vitest';
import type { RunningProcess } from '../../support/running-process.ts';
import { shellLine } from '../../support/shell-line.ts';
import { type Alert, type Labels, Prometheus, untilSeen } from './prometheus.ts';
import { bySection, DASHBOARD_RANGE_S, panelsOf } from './runbook.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** More than the longest wait of a shortened rule with its range, on a busy machine. */
export const ALERT_MS = 240_000;

/** A night on call: Prometheus with the alerts, the processes it watches, and the runbook to go by. */
export class Night implements AsyncDisposable {
  readonly prometheus: Prometheus;
  readonly #targets = new Map<string, { address: string; labels: Labels }>();

  private constructor(prometheus: Prometheus) {
    this.prometheus = prometheus;
  }

  static async begin(history?: string): Promise<Night> {
    const tools = { prometheus: inject('prometheus'), promtool: inject('promtool') };
    return new Night(await Prometheus.start(tools, history));
  }

  /** Has a process watched as a pod of a namespace; the one that takes its place is a pod of another name. */
  async watch(namespace: string, process: 'ingress' | 'control', running: RunningProcess): Promise<void> {
    const { host } = new URL(await running.adminUrl());
    const labels = { namespace, process, pod: `${process}-${running.pid}` };
    this.#targets.set(`${namespace} ${process}`, { address: host, labels });
    this.prometheus.scrape([...this.#targets.values()]);
  }

  /** Waits for the alert, and sees that each panel which its section has one look at shows something. */
  async fires(alert: string, labels: Labels & { namespace: string }): Promise<Alert> {
    const began = performance.now();
    const found = await untilSeen(`${alert} fires`, () => this.#find(alert, labels), ALERT_MS);
    const seen: string[] = [];
    for (const { title, expressions } of panelsOf(alert, labels.namespace)) {
      const series = await Promise.all(
        expressions.map((one) => this.prometheus.draw(one, DASHBOARD_RANGE_S)),
      );
      if (series.flat().length === 0) throw new Error(`${alert}: the panel "${title}" shows nothing`);
      seen.push(`"${title}"`);
    }
    this.#note(`${alert} fires after ${since(began)} s: ${found.annotations.summary}; seen on ${seen}`);
    return found;
  }

  async resolves(alert: string, labels: Labels & { namespace: string }): Promise<void> {
    const began = performance.now();
    const isOver = async () => (await this.#find(alert, labels)) === undefined;
    await untilSeen(`${alert} is resolved`, isOver, ALERT_MS);
    this.#note(`${alert} is resolved after ${since(began)} s`);
  }

  /** Runs a command of the section as a shell of the operator would, its capital letters and dots filled in. */
  async run(
    alert: string,
    command: string,
    env: Env,
    filled: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    bySection(alert, command);
    const { more = '', ...places } = filled;
    const line = Object.entries(places).reduce((one, [place, value]) => one.replace(place, value), command);
    // A finding is no failure of the look at it: `doctor` ends with 1 where it has found something.
    const { stdout } = await shellLine(`${line} ${more}`, env).catch(
      (error: { stdout?: string; code?: unknown }) => {
        if (error.code === 1 && error.stdout) return { stdout: error.stdout };
        throw error;
      },
    );
    return stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.prometheus[Symbol.asyncDispose]();
  }

  async #find(alert: string, labels: Labels): Promise<Alert | undefined> {
    const wanted = Object.entries({ alertname: alert, ...labels });
    const firing = await this.prometheus.firing();
    return firing.find((one) => wanted.every(([name, value]) => one.labels[name] === value));
  }

  #note(line: string): void {
    console.log(`night: ${line}`);
  }
}

const since = (began: number) => ((performance.now() - began) / 1_000).toFixed(0);
