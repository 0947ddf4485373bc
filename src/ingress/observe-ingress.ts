import type { Receipt } from '../core/delivery.ts';
import { ERRORS, HooklineError } from '../core/errors.ts';
import { createThrottledLog, type Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { LiveKeyring } from '../subscriptions/keyring.ts';
import type { BodyMemory } from './body/body-memory.ts';
import { PROVEN, UNPROVEN } from './body/open-bodies.ts';
import { CONNECTION_ENDS, type ConnectionEnd } from './connection-limits.ts';

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
  metrics.samplers.add(showRefs(own.signaturesRefused, keyring));
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

/** Each ref with keys has a series; one without keys any more loses it when it was shown once more. */
function showRefs(
  refused: ReturnType<typeof webhookMetrics>['signaturesRefused'],
  keyring: Pick<LiveKeyring, 'refs'>,
): () => void {
  let shown: ReadonlySet<string> = new Set();
  let leaving: readonly string[] = [];
  return () => {
    const refs = new Set(keyring.refs());
    for (const ref of refs) refused.inc({ ref }, 0);
    for (const ref of leaving) if (!refs.has(ref)) refused.remove({ ref });
    leaving = [...shown].filter((ref) => !refs.has(ref));
    shown = refs;
  };
}

/** Names a fault of ours by its kind and line, as its message may hold what an unauthenticated sender sent. */
function lineOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { stack = '', message } = error;
  const begin = stack.indexOf(message);
  const frames = begin < 0 ? '' : stack.slice(begin + message.length);
  // Over no line end: of a run of empty lines it would try each as the first one.
  const [, line = ''] = /\n[^\S\n]+at ([^\n]*)/.exec(frames) ?? [];
  return `${error.name} ${line}`;
}

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
      own.bodiesWaiting.set({ bodies }, memory.waiting(bodies));
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
