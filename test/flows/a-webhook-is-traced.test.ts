import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openCollector } from '../support/collector.ts';
import { ReceiverFixture, receiptOf } from '../support/receiver-fixture.ts';
import { until } from '../support/until.ts';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT_ID = '00f067aa0ba902b7';
const SERVER = 2;
const PRODUCER = 4;

let collector: Awaited<ReturnType<typeof openCollector>>;
let receiver: ReceiverFixture;

beforeAll(async () => {
  collector = await openCollector();
  const stack = inject('stack');
  receiver = await ReceiverFixture.make(stack, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
});

afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
});

const spanOf = (kind: number) =>
  until(`a span of kind ${kind}`, () => collector.spans.find((span) => span.kind === kind));

describe('with OTEL_EXPORTER_OTLP_ENDPOINT', () => {
  it("a webhook's span and its record's are one trace, which goes on in the record's traceparent", async () => {
    const headers = { traceparent: `00-${TRACE_ID}-${PARENT_ID}-01` };
    const execution = await receiver.trigger1({ event: 'payment-status', headers });
    expect(execution.status).toBe(200);
    const webhook = await spanOf(SERVER);
    const record = await spanOf(PRODUCER);
    expect(webhook).toMatchObject({
      name: 'POST /webhooks/{ref}',
      service: 'hookline-ingress',
      traceId: TRACE_ID,
      parentSpanId: PARENT_ID,
      attributes: { 'hookline.event_id': receiptOf(execution).eventId, 'hookline.stored': 'kafka' },
    });
    const topic = receiver.fixture.topic('payment-status');
    expect(record).toMatchObject({
      name: `send ${topic}`,
      traceId: TRACE_ID,
      parentSpanId: webhook.spanId,
      attributes: { 'messaging.system': 'kafka', 'messaging.destination.name': topic },
    });
    const [seen] = await receiver.fixture.read('payment-status');
    expect(seen?.headers.traceparent).toBe(`00-${TRACE_ID}-${record.spanId}-01`);
  });

  it('a webhook that is not verified has no span, whatever traceparent it carries', async () => {
    const headers = { traceparent: `00-${'b'.repeat(32)}-${PARENT_ID}-01` };
    const refused = { event: 'payment-status', tamper: 'body', retry: false, headers } as const;
    expect((await receiver.trigger1(refused)).status).toBe(401);
    // Spans are exported in their order: with this one those before it would have come.
    const last = await receiver.trigger1({ event: 'payment-status' });
    await until('the span of a later webhook', () =>
      collector.spans.find((one) => one.attributes['hookline.event_id'] === receiptOf(last).eventId),
    );
    expect(collector.spans.filter((one) => one.traceId === 'b'.repeat(32))).toEqual([]);
    expect(collector.spans.filter((one) => one.attributes['hookline.refused'] !== undefined)).toEqual([]);
  });
});
