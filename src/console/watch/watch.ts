import { adminAddressesOf } from '../../runtime/admin-addresses.ts';
import type { Clock } from '../../runtime/clock.ts';
import { createHttp, type Http } from '../../runtime/http-client.ts';
import { observeFiles } from '../../runtime/observe-files.ts';
import { orAborted } from '../../runtime/or-aborted.ts';
import type { ConsoleDeps } from '../page/console-deps.ts';
import { whyUnknown } from './ingress-keys.ts';
import { addGrowth, CounterFollower, type Growth, grown, quantileOf } from './rates.ts';
import { type PodReading, readPod } from './read-pod.ts';

/** What all processes together did at a time; rates per second, times in seconds, null where nothing was measured. */
export type Point = {
  /** Seconds since 1970. */
  readonly at: number;
  readonly kafka: number | null;
  readonly spool: number | null;
  /** Answered 4xx. */
  readonly refused: number | null;
  /** Answered 5xx. */
  readonly failed: number | null;
  readonly p50: number | null;
  readonly p99: number | null;
  readonly publishP99: number | null;
  readonly spooled: number | null;
  readonly lag: number | null;
};

export type Watch = {
  /** The processes at the last reading, in the order of CONSOLE_TARGETS; undefined before the first. */
  pods(): readonly PodReading[] | undefined;
  /** The last hour, oldest first. */
  points(): readonly Point[];
  /** How counters grew over the last five minutes. */
  recent(): Growth;
  /** Resolves at the next reading. */
  next(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
};

const EVERY_MS = 5_000;
/** An hour: 720 points of ten numbers. */
const MAX_POINTS = 3_600_000 / EVERY_MS;
/** Five minutes of counters' growth: what a sentence about now is made of. */
const RECENT = 300_000 / EVERY_MS;
/** Rates and quantiles are those of a minute: with a webhook now and then those of five seconds would be noise. */
const MINUTE = 60_000 / EVERY_MS;
/** Processes that are read. More than any installation has, and a bound of the memory. */
const MAX_PODS = 100;

/** Those that the overview and the plots are made of. */
const COUNTERS = [
  'hookline_deliveries_total',
  'hookline_deliveries_refused_total',
  'hookline_delivery_seconds_bucket',
  'hookline_publish_seconds_bucket',
  'hookline_dead_letters_total',
  'hookline_schema_drift_total',
  'hookline_commands_total',
  'hookline_provider_requests_total',
];

/** Reads all processes every five seconds. It keeps one hour, and five minutes of the counters. */
function openWatch(deps: {
  readonly targets: readonly string[];
  readonly http: Pick<Http, 'send'>;
  readonly clock: Clock;
}): Watch {
  const { targets, http, clock } = deps;
  const follower = new CounterFollower();
  let pods: readonly PodReading[] | undefined;
  let points: Point[] = [];
  let growths: { readonly growth: Growth; readonly seconds: number }[] = [];
  let next = Promise.withResolvers<void>();
  let last: number | undefined;
  // What it was when it answered last.
  let processes: ReadonlyMap<string, PodReading['process']> = new Map();
  const named = (pod: PodReading): PodReading =>
    pod.fault === null ? pod : { ...pod, process: processes.get(pod.address) ?? pod.process };
  const read = async () => {
    const addresses = (await Promise.all(targets.map(addressesOf))).flat().slice(0, MAX_PODS);
    pods = (await Promise.all(addresses.map((address) => readPod(http, address)))).map(named);
    processes = new Map(pods.map(({ address, process }) => [address, process]));
    const now = clock.now();
    const growth = follower.take(pods, COUNTERS);
    if (last !== undefined) growths = [...growths, { growth, seconds: (now - last) / 1_000 }].slice(-RECENT);
    last = now;
    points = [...points, pointOf(clock.wall() / 1_000, pods, growths.slice(-MINUTE))].slice(-MAX_POINTS);
    next.resolve();
    next = Promise.withResolvers();
  };
  let reading = Promise.resolve();
  const begin = () => {
    // A reading that takes longer than the interval is not overtaken.
    reading = reading.then(read).catch(() => {});
  };
  const timer = targets.length > 0 ? clock.every(EVERY_MS, begin, { ref: false }) : undefined;
  if (timer) begin();
  return {
    pods: () => pods,
    points: () => points,
    recent: () => addGrowth(growths.map(({ growth }) => growth)),
    next: (signal) => orAborted(next.promise, signal).catch(() => {}),
    async stop() {
      timer?.cancel();
    },
  };
}

function pointOf(
  at: number,
  pods: readonly PodReading[],
  minute: readonly { readonly growth: Growth; readonly seconds: number }[],
): Point {
  const growth = addGrowth(minute.map((one) => one.growth));
  const seconds = minute.reduce((total, one) => total + one.seconds, 0);
  const rate = (label: RegExp) =>
    seconds === 0 ? null : grown(growth, 'hookline_deliveries_total', label) / seconds;
  const quantile = (q: number) => quantileOf(growth, 'hookline_delivery_seconds', q, / stored=(kafka|spool)/);
  const sum = (name: string) => {
    const values = pods.flatMap(({ samples }) => samples.of(name)).map(({ value }) => value);
    return values.length === 0 ? null : values.reduce((total, value) => total + value, 0);
  };
  return {
    at: Math.round(at),
    kafka: rate(/ stored=kafka/),
    spool: rate(/ stored=spool/),
    refused: rate(/ status=4/),
    failed: rate(/ status=5/),
    p50: quantile(0.5),
    p99: quantile(0.99),
    publishP99: quantileOf(growth, 'hookline_publish_seconds', 0.99),
    // Without the spool of a process that does not answer it would be another number.
    spooled: whyUnknown(pods) === null ? sum('hookline_spool_deliveries') : null,
    lag: lagOf(pods),
  };
}

/** Commands that wait. Every control process reports the same lag of each partition. */
export function lagOf(pods: readonly PodReading[]): number | null {
  const lags = pods.flatMap(({ samples }) => samples.of('hookline_command_lag'));
  if (lags.length === 0) return null;
  const byPartition = Map.groupBy(lags, ({ labels }) => `${labels.topic}/${labels.partition}`);
  return [...byPartition.values()].reduce(
    (total, same) => total + Math.max(...same.map(({ value }) => value)),
    0,
  );
}

/** A name that cannot be looked up is a process that does not answer. */
const addressesOf = (target: string): Promise<string[]> => {
  const url = new URL(target);
  return adminAddressesOf(url).catch(() => [url.host]);
};

export type Watching = { readonly watch: Watch; readonly http: Http };

/** Begins to read the processes of CONSOLE_TARGETS. */
export function watchTargets({ config, clock, logger, add }: ConsoleDeps): Watching {
  const reaching = { tls: {}, files: observeFiles(logger), clock, proxy: config.console };
  const http = add('http client', createHttp(reaching));
  return { http, watch: add('watch', openWatch({ targets: config.console.targets, http, clock })) };
}
