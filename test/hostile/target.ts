import { readFileSync } from 'node:fs';
import { peakBytes } from '../bench/process-cost.ts';
import type { RunningProcess } from '../support/running-process.ts';
import type { Fixture } from '../support/topics-fixture.ts';

export type TargetOptions = {
  readonly fixture: Fixture;
  /** Beside the built-in defaults. */
  readonly env?: Readonly<Record<string, string>>;
};

const MIB = 1024 ** 2;

/** The ingress under attack: a process of its own with the built-in limits, new for each attack. */
export class Target implements AsyncDisposable {
  readonly process: RunningProcess;
  readonly origin: string;
  readonly port: number;

  private constructor(process: RunningProcess, origin: string) {
    this.process = process;
    this.origin = origin;
    this.port = Number(new URL(origin).port);
  }

  static async start({ fixture, env = {} }: TargetOptions): Promise<Target> {
    const { process, url } = await fixture.ingress({ LOG_LEVEL: 'info', ...env });
    return new Target(process, url);
  }

  /** What the operating system says of its memory and of the bytes that it read; null where it is not Linux. */
  peakMib(): number | null {
    return process.platform === 'linux' ? peakBytes(this.process.pid) / MIB : null;
  }

  /** Bytes that the process has read so far, of every connection and file. */
  bytesRead(): number | null {
    if (process.platform !== 'linux') return null;
    const text = readFileSync(`/proc/${this.process.pid}/io`, 'latin1');
    return Number(/^rchar: (\d+)$/m.exec(text)?.[1]);
  }

  /** Refusals by code, those that happened. */
  async refusals(): Promise<Record<string, number>> {
    const text = await this.process.metrics();
    const found = text.matchAll(/^hookline_deliveries_refused_total\{code="(\w+)"\} (\d+)$/gm);
    return Object.fromEntries(
      [...found].map(([, code, count]) => [code, Number(count)] as const).filter(([, count]) => count > 0),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.stop();
  }
}
