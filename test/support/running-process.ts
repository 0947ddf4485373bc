import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from './source-tree.ts';
import { until } from './until.ts';

type LogLine = { msg?: string; level?: string; url?: string; port?: number } & Record<string, unknown>;

/** One of Hookline's processes, running for real, with everything that it has written. */
export class RunningProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly lines: LogLine[] = [];
  readonly errors: string[] = [];

  /** @param entry such as src/ingress/main.ts */
  constructor(
    entry: string,
    env: Readonly<Record<string, string | undefined>>,
    args: readonly string[] = [],
  ) {
    // What Node has compiled once, all processes of a run share: a start takes a third less of the processor.
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];
    this.#child = spawn(process.execPath, [join(ROOT, entry), ...args], {
      env: { PATH, NODE_COMPILE_CACHE, ...env },
      stdio,
    });
    this.#ended = once(this.#child, 'close');
    createInterface({ input: this.#child.stdout! }).on('line', (line) => this.lines.push(parse(line)));
    createInterface({ input: this.#child.stderr! }).on('line', (line) => this.errors.push(line));
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN;
  }

  get exitCode(): number | null {
    return this.#child.exitCode;
  }

  /** The first line with this message, once it is written; fails where the process ends before. */
  logged(message: string, deadlineMs = 30_000): Promise<LogLine> {
    return until(
      `"${message}" is logged`,
      () => {
        const line = this.lines.find((one) => one.msg === message);
        if (!line && this.#child.exitCode !== null)
          throw new Error(`ended (${this.#child.exitCode}): ${this.written()}`);
        return line;
      },
      deadlineMs,
    );
  }

  async adminUrl(): Promise<string> {
    return `http://127.0.0.1:${(await this.logged('admin listening')).port}`;
  }

  /** What /metrics says now. */
  async metrics(): Promise<string> {
    return (await fetch(`${await this.adminUrl()}/metrics`)).text();
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Waits for the end, and gives the exit code; null where a signal ended it. */
  async end(): Promise<number | null> {
    await this.#ended;
    return this.#child.exitCode;
  }

  /** Asks it to stop, and kills it where it doesn't. */
  async stop(graceMs = 20_000): Promise<number | null> {
    this.kill('SIGTERM');
    const timer = setTimeout(() => this.kill('SIGKILL'), graceMs);
    const code = await this.end();
    clearTimeout(timer);
    return code;
  }

  /** All that it has written, as text. */
  written(): string {
    return [...this.lines.map((line) => JSON.stringify(line)), ...this.errors].join('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

function parse(line: string): LogLine {
  try {
    return JSON.parse(line);
  } catch {
    return { text: line };
  }
}
