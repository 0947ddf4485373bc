import type { SpanKind } from '@opentelemetry/api';
import type { Logger } from './logger.ts';
import {
  type OpenSpan,
  readTraceparent,
  type SpanOptions,
  type Tracer,
  writeTraceparent,
} from './tracing.ts';

/** Spans wait for their export so long at most, and one export may take so long. */
const EXPORT = { everyMs: 2_000, deadlineMs: 5_000 };

/**
 * Spans to a collector, by OTLP over HTTP. The packages are loaded here and only now: a process that doesn't trace
 * pays nothing for them. A collector that is away costs spans, never a webhook.
 */
export async function openTracing(parts: {
  /** Of the collector, without a path. */
  readonly endpoint: string;
  /** Share of the traces that begin here; those that come with a webhook follow its sampled flag. */
  readonly ratio: number;
  readonly serviceName: string;
  readonly logger: Logger;
}): Promise<{ readonly tracer: Tracer; stop(): Promise<void> }> {
  const [api, sdk, { resourceFromAttributes }, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ]);
  const { DiagLogLevel, ROOT_CONTEXT, SpanKind, SpanStatusCode, diag, trace } = api;
  const say = (message: string, ...more: unknown[]) =>
    parts.logger.warn({ message, more: more.map(String) }, 'tracing');
  diag.setLogger({ error: say, warn: say, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN);
  const exporter = new OTLPTraceExporter({
    url: `${parts.endpoint}/v1/traces`,
    timeoutMillis: EXPORT.deadlineMs,
  });
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({ 'service.name': parts.serviceName }),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(parts.ratio) }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter, scheduledDelayMillis: EXPORT.everyMs })],
  });
  const tracer = provider.getTracer('hookline');
  const kinds: Record<SpanOptions['kind'], SpanKind> = {
    server: SpanKind.SERVER,
    producer: SpanKind.PRODUCER,
  };
  const start = (name: string, { kind, parent, attributes }: SpanOptions): OpenSpan => {
    const remote = readTraceparent(parent);
    const context = remote
      ? trace.setSpanContext(ROOT_CONTEXT, {
          traceId: remote.traceId,
          spanId: remote.spanId,
          traceFlags: remote.flags,
          isRemote: true,
        })
      : ROOT_CONTEXT;
    const span = tracer.startSpan(name, { kind: kinds[kind], attributes }, context);
    const { traceId, spanId, traceFlags: flags } = span.spanContext();
    return {
      traceparent: writeTraceparent({ traceId, spanId, flags }),
      end({ attributes: more, errorCode } = {}) {
        if (more) span.setAttributes(more);
        if (errorCode !== undefined) {
          span.setAttribute('error.type', errorCode);
          span.setStatus({ code: SpanStatusCode.ERROR });
        }
        span.end();
      },
    };
  };
  return {
    tracer: { start },
    async stop() {
      // A collector that is away takes the last spans with it. That is no reason not to stop well.
      await provider.shutdown().catch((error: Error) => say(error.message));
      diag.disable();
    },
  };
}
