/**
 * What a process says of itself. A check returns null when all is well, else a sentence: why not, and since when;
 * one that throws counts as not well.
 * Liveness never depends on Kafka, the registry or the provider: a restart mends none of them.
 */
export type Check = () => string | null;

export type Probes = {
  /** Adds a condition of readiness; the returned function takes it back. */
  readyWhen(name: string, check: Check): () => void;
  /** Adds a condition of liveness: only what a restart would mend. */
  aliveWhen(name: string, check: Check): () => void;
  readiness(): ProbeReport;
  liveness(): ProbeReport;
};

export type ProbeReport = { readonly ok: boolean; readonly reasons: Readonly<Record<string, string>> };

export function createProbes(): Probes {
  const ready = new Map<string, Check>();
  const alive = new Map<string, Check>();
  const add = (checks: Map<string, Check>, name: string, check: Check) => {
    checks.set(name, check);
    return () => {
      // Another may have taken the name since.
      if (checks.get(name) === check) checks.delete(name);
    };
  };
  return {
    readyWhen: (name, check) => add(ready, name, check),
    aliveWhen: (name, check) => add(alive, name, check),
    readiness: () => report(ready),
    liveness: () => report(alive),
  };
}

function report(checks: Map<string, Check>): ProbeReport {
  const reasons: Record<string, string> = {};
  for (const [name, check] of checks) {
    const why = outcome(check);
    if (why !== null) reasons[name] = why;
  }
  return { ok: Object.keys(reasons).length === 0, reasons };
}

function outcome(check: Check): string | null {
  try {
    return check();
  } catch (error) {
    return `the check failed: ${error instanceof Error ? error.message : String(error)}`;
  }
}
