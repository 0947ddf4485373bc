import { samplesIn } from '../../monitoring/metric-samples.ts';
import { readProcess } from '../../monitoring/read-process.ts';
import type { Http } from '../../runtime/http-client.ts';
import { Samples } from './samples.ts';

/** What one process says of itself. */
export type PodReading = {
  /** host:port */
  readonly address: string;
  readonly process: 'ingress' | 'control' | 'unknown';
  readonly isReady: boolean;
  /** By the name of the check. */
  readonly reasons: Readonly<Record<string, string>>;
  /** Why it cannot be read; null where it can. */
  readonly fault: string | null;
  readonly samples: Samples;
};

const TIMEOUT_MS = 3_000;

/** Reads /readyz and /metrics of one process. Never rejects: what it cannot read is what an operator wants to know. */
export async function readPod(http: Pick<Http, 'send'>, address: string): Promise<PodReading> {
  try {
    const [readyz, metrics] = await Promise.all([
      readProcess(http, `http://${address}`, '/readyz', TIMEOUT_MS),
      readProcess(http, `http://${address}`, '/metrics', TIMEOUT_MS),
    ]);
    const samples = new Samples(samplesIn(metrics.body));
    const isReady = readyz.status === 200;
    return {
      address,
      process: processOf(samples),
      isReady,
      reasons: reasonsIn(readyz.body),
      fault: null,
      samples,
    };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    const fault = message || code || 'it does not answer';
    return { address, process: 'unknown', isReady: false, reasons: {}, fault, samples: new Samples([]) };
  }
}

/** By what only one of them has. */
function processOf(samples: Samples): PodReading['process'] {
  if (samples.of('hookline_control_working').length > 0) return 'control';
  return samples.of('hookline_deliveries_total').length > 0 ? 'ingress' : 'unknown';
}

function reasonsIn(body: string): Record<string, string> {
  try {
    const { reasons } = JSON.parse(body) as { reasons?: unknown };
    if (typeof reasons !== 'object' || reasons === null) return {};
    return Object.fromEntries(Object.entries(reasons).map(([name, why]) => [name, String(why)]));
  } catch {
    return {};
  }
}
