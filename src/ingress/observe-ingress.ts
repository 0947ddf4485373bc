import type { Receipt } from '../core/delivery.ts';
import type { DeadLetterStage } from '../core/errors.ts';
import { ERRORS, HooklineError } from '../core/errors.ts';
import { deadLetterMetrics } from '../delivery/dead-letter/dead-letter-headers.ts';
import type { DeliveryObserver } from '../delivery/ports.ts';
import { createThrottledLog, type Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { ProcessContext } from '../runtime/process-shell.ts';
import type { LiveKeyring } from '../subscriptions/keyring.ts';
import type { BodyMemory } from './body/body-memory.ts';
import { PROVEN, UNPROVEN } from './body/open-bodies.ts';
import { CONNECTION_ENDS, type ConnectionEnd } from './connection-limits.ts';
import type { KeyChanges } from './key-changes.ts';

export type IngressObserver = {
  /** `seconds` from the head of the request to its answer. */
  accepted(ref: string, receipt: Receipt, seconds: number): void;
  /** `seconds` is undefined where no webhook was understood. */
  refused(error: unknown, ref: string | undefined, seconds: number | undefined): void;
  /** A connection was closed without an answer. */
  closed(reason: ConnectionEnd, error?: unknown): void;
  stop(): Promise<void>;
};

/** How many characters are logged of a ref, which an unauthenticated sender may have made up. */
const REF_CHARACTERS = 64;

export function createIngressObserver(parts: {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly keyring: Pick<LiveKeyring, 'has' | 'refs'>;
}): IngressObserver {
  const { logger, metrics, keyring } = parts;
  const own = webhookMetrics(metrics);
  const log = createThrottledLog(logger);
  // From the start, so that the first one is an increase: an alert does not see another.
  for (const [code, { status }] of Object.entries(ERRORS)) {
    if (status === null || status < 400) continue;
    own.refused.inc({ code }, 0);
    own.deliveries.inc({ status: String(status), stored: 'none' }, 0);
  }
  for (const stored of ['kafka', 'spool']) {
    own.deliveries.inc({ status: '200', stored }, 0);
    own.deliverySeconds.zero({ stored });
  }
  for (const reason of Object.keys(CONNECTION_ENDS)) own.connectionsClosed.inc({ reason }, 0);
  metrics.samplers.add(() => {
    for (const ref of keyring.refs()) own.signaturesRefused.inc({ ref }, 0);
  });
  // Counted here and added to the metric at each scrape.
  const accepted = { kafka: 0, spool: 0 };
  metrics.samplers.add(() => {
    for (const stored of ['kafka', 'spool'] as const) {
      if (accepted[stored] > 0) own.deliveries.inc({ status: '200', stored }, accepted[stored]);
      accepted[stored] = 0;
    }
  });
  return {
    accepted(ref, receipt, seconds) {
      own.deliverySeconds.observe({ stored: receipt.stored }, seconds);
      accepted[receipt.stored]++;
      if (logger.isLevelEnabled('debug')) logger.debug({ ref, ...receipt }, 'webhook stored');
    },
    refused(error, ref, seconds) {
      if (seconds !== undefined) own.deliverySeconds.observe({ stored: 'none' }, seconds);
      const code = error instanceof HooklineError ? error.code : 'INTERNAL';
      own.refused.inc({ code });
      // A stranger can make up any number of others.
      if (code === 'UNAUTHENTIC' && ref !== undefined && keyring.has(ref)) own.signaturesRefused.inc({ ref });
      own.deliveries.inc({ status: String(ERRORS[code].status ?? 500), stored: 'none' });
      const fields = () => ({ ref: ref?.slice(0, REF_CHARACTERS), err: error });
      if (code === 'INTERNAL') log.error({ code, where: lineOf(error) }, 'webhook failed', fields);
      else log.warn({ code }, 'webhook refused', fields);
    },
    closed(reason, error) {
      own.connectionsClosed.inc({ reason });
      // Behind a proxy the sender is answered 403: the same alert covers both.
      if (reason === 'source_not_allowed') own.refused.inc({ code: 'SOURCE_NOT_ALLOWED' });
      log.warn({ reason }, 'connection closed', () => ({ why: CONNECTION_ENDS[reason], err: error }));
    },
    stop: async () => log.stop(),
  };
}

/** Names a fault of ours by its kind and line, as its message may hold what an unauthenticated sender sent. */
function lineOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const [, line = ''] = /\n\s+at ([^\n]*)/.exec(error.stack ?? '') ?? [];
  return `${error.name} ${line}`;
}

const STAGES: readonly DeadLetterStage[] = ['DECRYPT', 'PARSE', 'ENCODE', 'PRODUCE', 'SPOOL'];

type Matches = {
  readonly ref: string;
  readonly use: string;
  readonly key: string;
  count: number;
  at: number;
};

/**
 * What happens to deliveries, as metrics. Matches, of which there are two for each delivery, are counted in fields and added
 * to the metric at each scrape: a labelled counter costs several times as much as a field.
 */
export function observeDelivery(
  { metrics, clock }: Pick<ProcessContext, 'metrics' | 'clock'>,
  keys: Pick<KeyChanges, 'take'>,
): DeliveryObserver {
  const own = deliveryMetrics(metrics);
  const { deadLetters } = deadLetterMetrics(metrics);
  // From the start, so that the first one is an increase: an alert does not see another.
  for (const stage of STAGES) deadLetters.inc({ stage }, 0);
  const matches = new Map<string, Matches[][]>();
  const flush = (one: Matches) => {
    if (one.count === 0) return;
    const { ref, use, key, count, at } = one;
    own.keyMatches.inc({ ref, use, key }, count);
    own.keyLastMatched.set({ ref, use, key }, at / 1_000);
    one.count = 0;
  };
  /** What was counted by the position of a key is another key's by now. */
  const forget = (ref: string, use: string) => {
    const counted = matches.get(ref)?.[indexOf(use)] ?? [];
    counted.forEach(({ key }) => {
      own.keyMatches.remove({ ref, use, key });
      own.keyLastMatched.remove({ ref, use, key });
    });
    counted.length = 0;
  };
  metrics.samplers.add(() => {
    for (const { ref, use } of keys.take()) forget(ref, use);
    for (const uses of matches.values()) for (const keys of uses) keys.forEach(flush);
  });
  return {
    keyMatched(ref, use, index) {
      let uses = matches.get(ref);
      if (uses === undefined) {
        uses = [[], []];
        matches.set(ref, uses);
      }
      const keys = uses[indexOf(use)] as Matches[];
      const one = keys[index] ?? { ref, use, key: String(index), count: 0, at: 0 };
      keys[index] = one;
      one.count++;
      one.at = clock.wall();
    },
    drift: (topic, field, count = 1) => own.schemaDrift.inc({ topic, field }, count),
    unclassified: () => own.unclassified.inc(),
    deadLettered: (stage) => deadLetters.inc({ stage }),
  };
}

const indexOf = (use: string) => (use === 'signing' ? 0 : 1);

const CLASSES = [
  { label: { class: 'unproved' }, of: UNPROVEN },
  { label: { class: 'proven' }, of: PROVEN },
] as const;

/** Shows at each scrape how much of the budget is in use, how many bodies wait for it, and how many were ended for others. */
export function observeMemory(memory: BodyMemory, metrics: Metrics): void {
  const own = memoryMetrics(metrics);
  // From the start, so that the first one is an increase: an alert does not see another.
  for (const { label } of CLASSES) own.bodiesEvicted.inc(label, 0);
  metrics.samplers.add(() => {
    for (const bodies of ['small', 'large'] as const) {
      own.bodyMemory.set({ bodies }, memory[bodies].taken);
      own.bodiesWaiting.set({ bodies }, memory[bodies].waiting);
    }
    for (const { label, of } of CLASSES) own.bodiesEvicted.inc(label, memory.takeEvicted(of));
  });
}

/** What ingress answers and closes. */
export const webhookMetrics = (metrics: Metrics) => ({
  /** Webhooks by answer: `stored` is kafka, spool or none. */
  deliveries: metrics.counter({
    name: 'hookline_deliveries_total',
    help: 'Webhooks answered, by HTTP status and by where the event is',
    labels: ['status', 'stored'],
  }),
  deliverySeconds: metrics.histogram({
    name: 'hookline_delivery_seconds',
    help: 'From the head of a webhook to its answer, by where the event is',
    labels: ['stored'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  }),
  refused: metrics.counter({
    name: 'hookline_deliveries_refused_total',
    help: 'Webhooks not stored, by the code of the error table',
    labels: ['code'],
  }),
  signaturesRefused: metrics.counter({
    name: 'hookline_signatures_refused_total',
    help: 'Webhooks answered 401, by ref, of those that have keys here',
    labels: ['ref'],
  }),
  connectionsClosed: metrics.counter({
    name: 'hookline_connections_closed_total',
    help: 'Connections closed by ingress without an answer, by reason',
    labels: ['reason'],
  }),
});

/** What becomes of verified deliveries. */
export const deliveryMetrics = (metrics: Metrics) => ({
  unclassified: metrics.counter({
    name: 'hookline_unclassified_total',
    help: 'Verified events whose type no schema claims',
  }),
  schemaDrift: metrics.counter({
    name: 'hookline_schema_drift_total',
    help: 'Values that did not fit their field: null in the record, whole in source',
    labels: ['topic', 'field'],
  }),
  keyMatches: metrics.counter({
    name: 'hookline_key_matches_total',
    help: 'Deliveries by the key that matched: use is signing or encryption, key its place (0 is the current one)',
    labels: ['ref', 'use', 'key'],
  }),
  keyLastMatched: metrics.gauge({
    name: 'hookline_key_last_matched_timestamp_seconds',
    help: 'When a key last matched a delivery, in seconds since 1970; labels as of hookline_key_matches_total',
    labels: ['ref', 'use', 'key'],
  }),
});

/** Memory for bodies. */
export const memoryMetrics = (metrics: Metrics) => ({
  bodyMemory: metrics.gauge({
    name: 'hookline_body_memory_bytes',
    help: 'Memory of MEMORY_BUDGET_BYTES that bodies on their way have taken, small and large ones apart',
    labels: ['bodies'],
  }),
  bodiesWaiting: metrics.gauge({
    name: 'hookline_bodies_waiting',
    help: 'Webhooks whose body waits unread for memory, small and large ones apart',
    labels: ['bodies'],
  }),
  bodiesEvicted: metrics.counter({
    name: 'hookline_bodies_evicted_total',
    help: 'Webhooks whose body came so slowly that others were given its memory; answered 503. By whether the connection had delivered a verified webhook before',
    labels: ['class'],
  }),
});
