import type { ValuesOf } from '../config/env.ts';
import type { tracingSettings } from '../config/shared-settings.ts';
import type { VerifiedDelivery } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import type { OutgoingRecord, Position } from '../core/record.ts';
import type { AcceptPorts } from '../delivery/accept-delivery.ts';
import type { StoreDeps } from '../delivery/store/open-store.ts';
import type { ProcessContext } from '../runtime/process-shell.ts';
import { openTracing, type Tracer } from '../runtime/tracing.ts';
import { errorAnswer } from './answers.ts';

/**
 * The same store, each delivery under a span of its own. The span begins when the signature has been verified: a
 * sender that cannot sign cannot make us trace, or add to a trace of others.
 */
export function traceStore(store: AcceptPorts['store'], tracer: Tracer | undefined): AcceptPorts['store'] {
  if (!tracer) return store;
  return async (delivery: VerifiedDelivery) => {
    const span = tracer.start('POST /webhooks/{ref}', {
      kind: 'server',
      parent: delivery.traceparent,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/webhooks/{ref}',
        'url.path': `/webhooks/${delivery.ref}`,
      },
    });
    try {
      const receipt = await store({ ...delivery, traceparent: span.traceparent });
      const { eventId, stored } = receipt;
      span.end({
        attributes: {
          'http.response.status_code': 200,
          'hookline.event_id': eventId,
          'hookline.stored': stored,
        },
      });
      return receipt;
    } catch (error) {
      const { status } = errorAnswer(error);
      const code = error instanceof HooklineError ? error.code : 'INTERNAL';
      span.end({
        attributes: { 'http.response.status_code': status, 'hookline.refused': code },
        errorCode: code,
      });
      throw error;
    }
  };
}

/** The tracer of OTEL_EXPORTER_OTLP_ENDPOINT; undefined where that is unset. */
export async function startTracing(
  { endpoint, ratio, ...proxy }: ValuesOf<typeof tracingSettings>,
  { logger, components }: Pick<ProcessContext, 'logger' | 'components'>,
): Promise<Tracer | undefined> {
  if (endpoint === undefined) return undefined;
  const serviceName = 'hookline-ingress';
  return components.add('tracing', await openTracing({ endpoint, ratio, proxy, serviceName, logger })).tracer;
}

/** The publisher, its records traced where there is a tracer. */
export function traced(
  publisher: StoreDeps['publisher'],
  tracer: Tracer | undefined,
): StoreDeps['publisher'] {
  if (!tracer) return publisher;
  return {
    publish: tracePublishing((record, deadlineMs) => publisher.publish(record, deadlineMs), tracer),
    dropWaiting: () => publisher.dropWaiting(),
    trouble: () => publisher.trouble(),
  };
}

type Publish = (record: OutgoingRecord, deadlineMs: number) => Promise<Position>;

const TRACEPARENT = 'traceparent';

/**
 * The same publishing with a span for each record, from handing it over until the brokers confirmed it. The record
 * bears this span's `traceparent` in place of its webhook's: who reads it goes on from there.
 */
function tracePublishing(publish: Publish, tracer: Tracer): Publish {
  return async (record, deadlineMs) => {
    const headers = new Map(record.headers);
    const name = [...headers.keys()].find((key) => key.toString('latin1') === TRACEPARENT);
    const span = tracer.start(`send ${record.topic}`, {
      kind: 'producer',
      parent: name && headers.get(name)?.toString('latin1'),
      attributes: {
        'messaging.system': 'kafka',
        'messaging.operation.type': 'send',
        'messaging.operation.name': 'send',
        'messaging.destination.name': record.topic,
      },
    });
    headers.set(name ?? Buffer.from(TRACEPARENT), Buffer.from(span.traceparent, 'latin1'));
    try {
      const position = await publish({ ...record, headers }, deadlineMs);
      const { partition, offset } = position;
      span.end({
        attributes: {
          'messaging.destination.partition.id': String(partition),
          'messaging.kafka.offset': Number(offset),
        },
      });
      return position;
    } catch (error) {
      span.end({ errorCode: error instanceof HooklineError ? error.code : 'INTERNAL' });
      throw error;
    }
  };
}
