import type { Receipt } from '../core/delivery.ts';
import { ERRORS, HooklineError } from '../core/errors.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';

export type IngressObserver = {
  /** `seconds` from the head of the request to its answer. */
  accepted(ref: string, receipt: Receipt, seconds: number): void;
  /** `seconds` is undefined where no webhook was understood. */
  refused(error: unknown, ref: string | undefined, seconds: number | undefined): void;
  stop(): Promise<void>;
};

/** Refusals of one kind are counted, and logged so often at most: a flood must not fill a disk. */
const REFUSAL_LOG_EVERY_MS = 60_000;

export function createIngressObserver(parts: { logger: Logger; metrics: Metrics }): IngressObserver {
  const { logger, metrics } = parts;
  const refusals = new Map<string, number>();
  // From the start, so that the first one is an increase: an alert sees no other.
  for (const [code, { status }] of Object.entries(ERRORS)) {
    if (status === null || status < 400) continue;
    metrics.refused.inc({ code }, 0);
    metrics.deliveries.inc({ status: String(status), stored: 'none' }, 0);
  }
  const timer = setInterval(() => {
    for (const [code, count] of refusals) {
      if (count > 0) logger.warn({ code, count }, 'webhooks refused since the last such line');
      if (count > 0) refusals.set(code, 0);
      else refusals.delete(code);
    }
  }, REFUSAL_LOG_EVERY_MS);
  timer.unref();
  // Counted here and handed on at each scrape.
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
      const seen = refusals.get(code);
      refusals.set(code, seen === undefined ? 0 : seen + 1);
      if (code === 'INTERNAL') logger.error({ ref, err: error }, 'webhook failed');
      else if (seen === undefined) logger.warn({ ref, code, err: error }, 'webhook refused');
    },
    stop: async () => clearInterval(timer),
  };
}
