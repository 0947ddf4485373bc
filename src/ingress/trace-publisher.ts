import { HooklineError } from '../core/errors.ts';
import type { OutgoingRecord, Position } from '../kafka/produce/publisher.ts';
import type { Tracer } from '../runtime/tracing.ts';

type Publish = (record: OutgoingRecord, deadlineMs: number) => Promise<Position>;

const TRACEPARENT = 'traceparent';

/**
 * The same publishing with a span for each record, from handing it over until the brokers confirmed it. The record
 * bears this span's `traceparent` in place of its webhook's: who reads it goes on from there.
 */
export function tracePublishing(publish: Publish, tracer: Tracer): Publish {
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
