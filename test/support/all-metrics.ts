import { verifyMetrics } from '../../src/cli/verify/verify-metrics.ts';
import { controlMetrics } from '../../src/control/control-metrics.ts';
import { openCountMetrics } from '../../src/dead-letters/observe-open-count.ts';
import { deadLetterMetrics } from '../../src/delivery/dead-letter/dead-letter-headers.ts';
import { spoolMetrics } from '../../src/delivery/store/observe-spool.ts';
import { serverMetrics } from '../../src/ingress/ingress-server.ts';
import { largeBodyMetrics } from '../../src/ingress/large-body/large-body-threads.ts';
import { deliveryMetrics } from '../../src/ingress/observe-delivery.ts';
import { memoryMetrics, webhookMetrics } from '../../src/ingress/observe-ingress.ts';
import { backlogMetrics } from '../../src/ingress/start-delivery.ts';
import { safetyMetrics } from '../../src/kafka/admin/watch-safety.ts';
import { publisherMetrics } from '../../src/kafka/open-kafka.ts';
import { bodyStoreMetrics } from '../../src/object-store/open-body-store.ts';
import { processMetrics } from '../../src/runtime/admin-server.ts';
import { createMetrics, type Metrics } from '../../src/runtime/metrics.ts';
import { certificateMetrics } from '../../src/runtime/observe-files.ts';
import { keyMetrics } from '../../src/subscriptions/start-keyring.ts';
import { tokenMetrics } from '../../src/tokens/observe-tokens.ts';

const OF_BOTH = [
  processMetrics,
  publisherMetrics,
  safetyMetrics,
  deadLetterMetrics,
  tokenMetrics,
  certificateMetrics,
];
const OF_INGRESS = [
  ...[webhookMetrics, deliveryMetrics, memoryMetrics, serverMetrics, backlogMetrics, largeBodyMetrics],
  ...[bodyStoreMetrics, spoolMetrics, keyMetrics],
];
const OF_CONTROL = [controlMetrics, openCountMetrics];
/** Of the file that `hookline verify` writes, which not everybody collects. */
const OF_VERIFY = [verifyMetrics];

function defined(definitions: readonly ((metrics: Metrics) => unknown)[]): Metrics {
  const metrics = createMetrics();
  for (const define of definitions) define(metrics);
  return metrics;
}

/** Every metric of the processes that run all the time. */
export const allMetrics = () => defined([...OF_BOTH, ...OF_INGRESS, ...OF_CONTROL]);

/** The metrics by the processes that have them. */
export const metricsByProcess = () => ({
  both: defined(OF_BOTH),
  ingress: defined(OF_INGRESS),
  control: defined(OF_CONTROL),
  verify: defined(OF_VERIFY),
});
