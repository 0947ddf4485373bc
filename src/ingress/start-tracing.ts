import type { ValuesOf } from '../config/env.ts';
import type { tracingSettings } from '../config/shared-settings.ts';
import type { StoreParts } from '../delivery/store/open-store.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Parts } from '../runtime/process-shell.ts';
import { openTracing, type Tracer } from '../runtime/tracing.ts';
import { tracePublishing } from './trace-publisher.ts';

/** The tracer of OTEL_EXPORTER_OTLP_ENDPOINT; undefined where that is unset. */
export async function startTracing(
  { endpoint, ratio }: ValuesOf<typeof tracingSettings>,
  logger: Logger,
  parts: Pick<Parts, 'add'>,
): Promise<Tracer | undefined> {
  if (endpoint === undefined) return undefined;
  const serviceName = 'hookline-ingress';
  return parts.add('tracing', await openTracing({ endpoint, ratio, serviceName, logger })).tracer;
}

/** The publisher, its records traced where there is a tracer. */
export function traced(
  publisher: StoreParts['publisher'],
  tracer: Tracer | undefined,
): StoreParts['publisher'] {
  if (!tracer) return publisher;
  return {
    publish: tracePublishing((record, deadlineMs) => publisher.publish(record, deadlineMs), tracer),
    dropWaiting: () => publisher.dropWaiting(),
    trouble: () => publisher.trouble(),
  };
}
