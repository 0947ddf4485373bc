import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import { freePorts } from '../../stack/plan-ports.ts';
import { CHART } from '../../support/generated/chart-readme.ts';
import { readFile } from '../../support/generated/files.ts';
import { until } from '../../support/until.ts';
import { shortenRules } from './shorten-rules.ts';

export type Labels = Readonly<Record<string, string>>;
export type Alert = { labels: Labels; state: 'pending' | 'firing'; annotations: Labels; value: string };
export type Target = { address: string; labels: Labels };
type Series = { metric: Labels; value: [number, string] };

const POLL_MS = 500;

/** A Prometheus that runs, with the rules that are shipped, in the shortened form of the drill. */
export class Prometheus implements AsyncDisposable {
  readonly url: string;
  readonly #dir: string;
  readonly #child: ChildProcess;

  private constructor(url: string, dir: string, child: ChildProcess) {
    this.url = url;
    this.#dir = dir;
    this.#child = child;
  }

  /** @param history what it is to remember from before its start, as OpenMetrics text */
  static async start(tools: { prometheus: string; promtool: string }, history?: string): Promise<Prometheus> {
    const dir = mkdtempSync(join(tmpdir(), 'hookline-night-'));
    const data = join(dir, 'data');
    mkdirSync(data);
    if (history !== undefined) await backfill(tools.promtool, { dir, data, history });
    writeFileSync(join(dir, 'targets.json'), '[]');
    writeFileSync(join(dir, 'alerts.yaml'), shortenRules(readFile(`${CHART}/files/alerts.yaml`)));
    writeFileSync(join(dir, 'prometheus.yaml'), configuration(dir));
    const [port = 0] = await freePorts(1);
    const args = [
      `--config.file=${join(dir, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${data}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ];
    const child = spawn(tools.prometheus, args, { stdio: ['ignore', 'inherit', 'inherit'] });
    const prometheus = new Prometheus(`http://127.0.0.1:${port}`, dir, child);
    await until('Prometheus is ready', () => prometheus.#isReady(), 60_000);
    return prometheus;
  }

  /** What it scrapes from now on; it looks at the file every second. */
  scrape(targets: readonly Target[]): void {
    const groups = targets.map(({ address, labels }) => ({ targets: [address], labels }));
    writeFileSync(join(this.#dir, 'targets.new'), JSON.stringify(groups));
    renameSync(join(this.#dir, 'targets.new'), join(this.#dir, 'targets.json'));
  }

  async query(query: string): Promise<Series[]> {
    return (await this.#get<{ result: Series[] }>(`query?${new URLSearchParams({ query })}`)).result;
  }

  /** What a panel draws of the last `rangeS` seconds. */
  async draw(query: string, rangeS: number): Promise<Series[]> {
    const end = Date.now() / 1_000;
    const range = { start: String(end - rangeS), end: String(end), step: String(rangeS / 240) };
    return (await this.#get<{ result: Series[] }>(`query_range?${new URLSearchParams({ query, ...range })}`))
      .result;
  }

  async firing(): Promise<Alert[]> {
    const { alerts } = await this.#get<{ alerts: Alert[] }>('alerts');
    return alerts.filter(({ state }) => state === 'firing');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'close');
    this.#child.kill('SIGTERM');
    await ended;
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #get<T>(path: string): Promise<T> {
    const { data, error } = (await (await fetch(`${this.url}/api/v1/${path}`)).json()) as {
      data: T;
      error?: string;
    };
    if (error) throw new Error(`Prometheus: ${error}`);
    return data;
  }

  async #isReady(): Promise<boolean> {
    if (this.#child.exitCode !== null) throw new Error(`Prometheus ended with ${this.#child.exitCode}`);
    await sleep(POLL_MS / 10);
    return fetch(`${this.url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  }
}

/** What compose gives to Prometheus, but that it looks every second, and at what the drill starts. */
function configuration(dir: string): string {
  const { scrape_configs: jobs, ...shipped } = parse(readFile('deploy/compose/prometheus.yaml'));
  const [{ static_configs: _, ...job }] = jobs;
  const targets = { file_sd_configs: [{ files: [join(dir, 'targets.json')], refresh_interval: '1s' }] };
  return stringify({
    ...shipped,
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [join(dir, 'alerts.yaml')],
    scrape_configs: [{ ...job, ...targets }],
  });
}

async function backfill(
  promtool: string,
  { dir, data, history }: Record<'dir' | 'data' | 'history', string>,
) {
  const file = join(dir, 'history.txt');
  writeFileSync(file, history);
  await promisify(execFile)(promtool, ['tsdb', 'create-blocks-from', 'openmetrics', file, data]);
}

/** Waits as `until` does, and looks no more often than a scrape can change something. */
export const untilSeen = <T>(what: string, look: () => Promise<T | undefined | false>, deadlineMs: number) =>
  until(
    what,
    async () => {
      await sleep(POLL_MS);
      return look();
    },
    deadlineMs,
  );
