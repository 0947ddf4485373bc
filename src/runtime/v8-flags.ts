import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** All flags were measured on this version of Node.js; another V8 may read them later, or not at all. */
const MEASURED_MAJOR = 24;

/**
 * For processes that create many short-lived objects. V8 allocates what one place in the code makes among the old
 * objects from then on, once some hundred of its objects outlived one collection: as those of a hundred webhooks do that
 * wait for the brokers in that moment. From then on each dead event among the old ones keeps its young parts alive:
 * collections of 14 ms instead of 2, 100 MB and a tenth of the CPU more, in one process of four.
 * V8 reads this flag at each collection, so that it may be set while the process runs.
 * @throws TypeError on another major version of Node.js
 */
export function disablePretenuring(version?: string): void {
  setFlag('--no-allocation-site-pretenuring', version);
}

/**
 * For a process whose cores others use too: its brokers, its load, or the neighbours of its pod. V8 divides each collection of young
 * objects, which takes 2 to 3 ms, among several threads that wait for each other. In one thread an event cost 8 % less CPU (median
 * of eight paired comparisons on two cores, from 23 % less to 1 % more), with pauses no longer.
 * V8 reads this flag at each collection, so that it may be set while the process runs.
 * @throws TypeError on another major version of Node.js
 */
export function collectYoungInOneThread(version?: string): void {
  setFlag('--no-parallel-scavenge', version);
}

/**
 * For a process that pauses and must be fast again at once. Some 8 s into a pause V8 collects to save memory, and drops more than in other
 * collections, compiled code among it. Where it did, the next 8 s of load had a p99 of 15.6 and 24.3 ms; with this flag, in the same rounds,
 * 9.2 and 11.6 ms. CPU is the same (median of seven paired rounds, beside {@link growHeapAtOnce}), and memory is some 40 MB more.
 * V8 reads this flag at each of these collections, so that it may be set while the process runs.
 * @throws TypeError on another major version of Node.js
 */
export function keepCodeThroughPauses(version?: string): void {
  setFlag('--no-memory-reducer-favors-memory', version);
}

/**
 * For a process that has few live objects beside what it reads and writes. Behind a collection in a pause V8 lets the heap grow by 30 % at
 * most, buffers included, until the old objects take 10 MB more than after that collection. A few thousand webhooks take those 30 %: V8
 * collects the whole heap six times a second, optimises again what these collections drop, and so the old objects never take as much.
 * Seen from the sixth pause on, in each of the five bursts that followed: 64 to 79 µs of CPU per event, and 46 to 52 with this flag.
 * With it the heap grows to three times what is alive; V8 by itself chooses up to four times.
 * V8 reads this flag at each collection, so that it may be set while the process runs.
 * @throws TypeError on another major version of Node.js
 */
export function growHeapAtOnce(version?: string): void {
  setFlag('--heap-growing-percent=200', version);
}

/**
 * For control, whose work is a trickle that somebody else may turn into a flood: V8 lets the heap of a busy process grow
 * to several times of what is alive (400 MiB resident for 20,000 poison commands, of which 120 MiB of heap suffice).
 * V8 reads this flag at each collection, and collects earlier.
 * @throws TypeError on another major version of Node.js
 */
export function limitHeapGrowth(version?: string): void {
  setFlag('--optimize-for-size', version);
}

/** For ingress: many short-lived objects, and pauses between bursts of them. */
export function tuneForWebhooks(): void {
  for (const setFlag of [disablePretenuring, collectYoungInOneThread, keepCodeThroughPauses, growHeapAtOnce])
    setFlag();
}

/** Collects the whole heap, which takes some 20 ms for 50 MB: for a moment at which much has just become free. */
export function collectGarbage(): void {
  collector ??= exposeCollector();
  collector();
}

let collector: (() => void) | undefined;

/** V8 gives it to contexts that are made while the flag is set. */
function exposeCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return collect;
}

function setFlag(flag: string, version = process.versions.node): void {
  if (Number.parseInt(version, 10) !== MEASURED_MAJOR)
    throw new TypeError(
      `${flag} was measured on Node.js ${MEASURED_MAJOR}, and this is ${version}: measure it again, or run on ${MEASURED_MAJOR}`,
    );
  setFlagsFromString(flag);
}
