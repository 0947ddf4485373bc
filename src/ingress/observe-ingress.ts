import type { Receipt } from '../core/delivery.ts';
import type { DeadLetterStage } from '../core/errors.ts';
import { ERRORS, HooklineError } from '../core/errors.ts';
import type { DeliveryObserver } from '../delivery/ports.ts';
import { createThrottledLog, type Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { ProcessContext } from '../runtime/process-shell.ts';
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

/** How many characters are logged of a ref that a stranger may have made up. */
const REF_CHARACTERS = 64;

export function createIngressObserver(parts: { logger: Logger; metrics: Metrics }): IngressObserver {
  const { logger, metrics } = parts;
  const log = createThrottledLog(logger);
  // From the start, so that the first one is an increase: an alert does not see another.
  for (const [code, { status }] of Object.entries(ERRORS)) {
    if (status === null || status < 400) continue;
    metrics.refused.inc({ code }, 0);
    metrics.deliveries.inc({ status: String(status), stored: 'none' }, 0);
  }
  for (const reason of Object.keys(CONNECTION_ENDS)) metrics.connectionsClosed.inc({ reason }, 0);
  // Counted here and added to the metric at each scrape.
  const accepted = { kafka: 0, spool: 0 };
  metrics.samplers.add(() => {
    for (const stored of ['kafka', 'spool'] as const) {
      if (accepted[stored] > 0) metrics.deliveries.inc({ status: '200', stored }, accepted[stored]);
      accepted[stored] = 0;
    }
  });
  return {
    accepted(ref, receipt, seconds) {
      metrics.deliverySeconds.observe({ stored: receipt.stored }, seconds);
      accepted[receipt.stored]++;
      if (logger.isLevelEnabled('debug')) logger.debug({ ref, ...receipt }, 'webhook stored');
    },
    refused(error, ref, seconds) {
      if (seconds !== undefined) metrics.deliverySeconds.observe({ stored: 'none' }, seconds);
      const code = error instanceof HooklineError ? error.code : 'INTERNAL';
      metrics.refused.inc({ code });
      metrics.deliveries.inc({ status: String(ERRORS[code].status ?? 500), stored: 'none' });
      const fields = () => ({ ref: ref?.slice(0, REF_CHARACTERS), err: error });
      if (code === 'INTERNAL') log.error({ code, where: lineOf(error) }, 'webhook failed', fields);
      else log.warn({ code }, 'webhook refused', fields);
    },
    closed(reason, error) {
      metrics.connectionsClosed.inc({ reason });
      // Behind a proxy the sender is answered 403: the same alert covers both.
      if (reason === 'source_not_allowed') metrics.refused.inc({ code: 'SOURCE_NOT_ALLOWED' });
      log.warn({ reason }, 'connection closed', () => ({ why: CONNECTION_ENDS[reason], err: error }));
    },
    stop: async () => log.stop(),
  };
}

/** Names a fault of ours by its kind and line, as its message may hold what a stranger sent. */
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
export function observeDelivery({
  metrics,
  clock,
}: Pick<ProcessContext, 'metrics' | 'clock'>): DeliveryObserver {
  // From the start, so that the first one is an increase: an alert does not see another.
  for (const stage of STAGES) metrics.deadLetters.inc({ stage }, 0);
  const matches = new Map<string, Matches[][]>();
  const flush = (one: Matches) => {
    if (one.count === 0) return;
    const { ref, use, key, count, at } = one;
    metrics.keyMatches.inc({ ref, use, key }, count);
    metrics.keyLastMatched.set({ ref, use, key }, at / 1_000);
    one.count = 0;
  };
  metrics.samplers.add(() => {
    for (const uses of matches.values()) for (const keys of uses) keys.forEach(flush);
  });
  return {
    keyMatched(ref, use, index) {
      let uses = matches.get(ref);
      if (uses === undefined) {
        uses = [[], []];
        matches.set(ref, uses);
      }
      const keys = uses[use === 'signing' ? 0 : 1] as Matches[];
      const one = keys[index] ?? { ref, use, key: String(index), count: 0, at: 0 };
      keys[index] = one;
      one.count++;
      one.at = clock.wall();
    },
    drift: (topic, field, count = 1) => metrics.schemaDrift.inc({ topic, field }, count),
    unclassified: () => metrics.unclassified.inc(),
    deadLettered: (stage) => metrics.deadLetters.inc({ stage }),
  };
}

const CLASSES = [
  { label: { class: 'unproved' }, of: UNPROVEN },
  { label: { class: 'proven' }, of: PROVEN },
] as const;

/** Shows at each scrape how much of the budget is in use, how many bodies wait for it, and how many were ended for others. */
export function observeMemory(memory: BodyMemory, metrics: Metrics): void {
  // From the start, so that the first one is an increase: an alert does not see another.
  for (const { label } of CLASSES) metrics.bodiesEvicted.inc(label, 0);
  metrics.samplers.add(() => {
    for (const bodies of ['small', 'large'] as const) {
      metrics.bodyMemory.set({ bodies }, memory[bodies].taken);
      metrics.bodiesWaiting.set({ bodies }, memory[bodies].waiting);
    }
    for (const { label, of } of CLASSES) metrics.bodiesEvicted.inc(label, memory.takeEvicted(of));
  });
}
