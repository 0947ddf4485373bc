import type { RenewalObserver } from '../config/renewed-files.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { BodyStore, type BodyStoreDeps, type BodyStoreObserver, type WriteOutcome } from './body-store.ts';
import { openS3 } from './s3.ts';
import type { BodyStoreSettings } from './settings.ts';

/**
 * The object store of BODY_STORE; undefined where that is unset. Makes no connection yet.
 * @throws HooklineError CREDENTIALS_INVALID where BODY_STORE_CA_FILE cannot be used; ConfigError where no region is known
 */
export async function openBodyStore(
  settings: BodyStoreSettings,
  deps: Pick<BodyStoreDeps, 'clock' | 'observer' | 'attempts' | 'isGuarded'> & {
    readonly files: RenewalObserver;
  },
): Promise<BodyStore | undefined> {
  const { address, deadlineMs } = settings;
  if (address === undefined) return undefined;
  const { files, ...others } = deps;
  // Where another client decides, the process runs already: the file with the region can be gone for a moment.
  const needsRegion = !deps.isGuarded;
  const store = await openS3({ ...settings, bucket: address.bucket }, files, { needsRegion });
  return new BodyStore({ store, address, deadlineMs, ...others });
}

const OUTCOMES: readonly WriteOutcome[] = [
  'created',
  'exists',
  'taken',
  'unavailable',
  'refused',
  'object_refused',
];

/** Counts, the time of a write, whether the store takes messages, and one log line per change. */
export function observeBodyStore({
  logger,
  metrics,
}: {
  logger: Logger;
  metrics: Metrics;
}): BodyStoreObserver {
  const own = bodyStoreMetrics(metrics);
  // From the start, so that the first one is an increase: an alert does not see another.
  for (const outcome of OUTCOMES) own.bodyStoreWrites.inc({ outcome }, 0);
  own.bodyStoreAvailable.set(1);
  return {
    written(outcome, seconds) {
      own.bodyStoreWrites.inc({ outcome });
      own.bodyStoreSeconds.observe({}, seconds);
      if (outcome === 'taken')
        logger.error(
          { code: 'OBJECT_TAKEN' },
          'the object of an event has other bytes than the event: the message was stored under another name; find out who writes to the bucket',
        );
    },
    troubleChanged(why) {
      own.bodyStoreAvailable.set(why === null ? 1 : 0);
      if (why === null) logger.info('the object store takes messages again');
      else logger.warn({ why }, 'the object store does not take messages');
    },
  };
}

/** The object store. */
export const bodyStoreMetrics = (metrics: Metrics) => ({
  bodyStoreWrites: metrics.counter({
    name: 'hookline_body_store_writes_total',
    help: 'Writes to the object store by outcome: created; exists, with the same bytes; taken, by other bytes; unavailable; refused; object_refused, where the store takes others',
    labels: ['outcome'],
  }),
  bodyStoreSeconds: metrics.histogram({
    name: 'hookline_body_store_write_seconds',
    help: 'From the first try of a write to the object store until it ended, repeats included',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
  }),
  bodyStoreAvailable: metrics.gauge({
    name: 'hookline_body_store_available',
    help: '0 while the object store takes no messages, else 1; after a second failure within a minute 0 until none has failed for a minute; absent without BODY_STORE',
  }),
});
