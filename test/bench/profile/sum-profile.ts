/** What is read of V8's .cpuprofile. */
export type CpuProfile = {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
    };
  }[];
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
};

export type Share = { readonly name: string; readonly micros: number };

export type ProfileSum = {
  readonly busyMicros: number;
  /** By package, Node's own modules and our folders; the largest first. */
  readonly packages: readonly Share[];
  readonly functions: readonly Share[];
};

const IDLE = '(idle)';

/**
 * Self time by package and by function; what the process idled is left out, and the first `afterMicros`: a start that
 * compiles everything says nothing of a process that runs.
 */
export function sumProfile({ nodes, samples, timeDeltas }: CpuProfile, afterMicros = 0): ProfileSum {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const packages = new Map<string, number>();
  const functions = new Map<string, number>();
  let busyMicros = 0;
  let at = 0;
  for (const [n, id] of samples.entries()) {
    const frame = frames.get(id);
    const micros = timeDeltas[n] ?? 0;
    at += micros;
    if (at <= afterMicros) continue;
    if (!frame || frame.functionName === IDLE) continue;
    busyMicros += micros;
    const home = packageOf(frame);
    const name = `${frame.functionName || '(anonymous)'} ${home}:${frame.lineNumber + 1}`;
    packages.set(home, (packages.get(home) ?? 0) + micros);
    functions.set(name, (functions.get(name) ?? 0) + micros);
  }
  return { busyMicros, packages: largestFirst(packages), functions: largestFirst(functions) };
}

type Frame = CpuProfile['nodes'][number]['callFrame'];

/** Such as `fastify`, `@platformatic/kafka`, `node:internal/streams`, `src/ingress`, `(garbage collector)`. */
function packageOf({ url, functionName }: Frame): string {
  const inModules = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
  if (inModules !== undefined) return inModules;
  if (url.startsWith('node:')) return url.split('/').slice(0, 2).join('/');
  return /\/(src\/[^/]+)\//.exec(url)?.[1] ?? (url === '' ? functionName || '(native)' : url);
}

const largestFirst = (sums: ReadonlyMap<string, number>): Share[] =>
  [...sums].map(([name, micros]) => ({ name, micros })).sort((a, b) => b.micros - a.micros);
