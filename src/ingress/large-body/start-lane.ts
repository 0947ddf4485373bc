import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { watchPublishing } from '../../runtime/publisher-metrics.ts';
import { WORK_FACTOR } from '../body/memory-shares.ts';
import { MIB } from '../settings.ts';
import { LargeLane, type LargeLaneParts } from './large-body-worker.ts';

/** Below it the thread could not even start. */
const LEAST_HEAP_MB = 128;

/** Of what bodies at work cost, for the thread's heap: what is no longer used stands in it until it is collected. */
const HEAP_FACTOR = 2 * WORK_FACTOR;

/** The lane for large bodies. What happens in its thread is counted and logged as if it happened here. */
export function startLargeLane({
  logger,
  metrics,
  delivery,
  ...parts
}: Omit<LargeLaneParts, 'observer' | 'heapMb'> & {
  readonly delivery: LargeLaneParts['observer']['delivery'];
  readonly logger: Logger;
  readonly metrics: Metrics;
}): LargeLane {
  return new LargeLane({
    ...parts,
    heapMb: Math.max(LEAST_HEAP_MB, Math.ceil((HEAP_FACTOR * parts.atWork) / MIB)),
    observer: {
      delivery,
      publishing: watchPublishing({ logger, metrics }),
      threadDied(err) {
        metrics.largeBodyThreadDeaths.inc();
        logger.error({ err }, 'the thread for large bodies ended, the next large body gets a new one');
      },
    },
  });
}
