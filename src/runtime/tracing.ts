import type { SpanKind } from '@opentelemetry/api';
import { type ProxySettings, proxyTo } from '../config/proxy.ts';
import { createThrottledLog, type Logger } from './logger.ts';
import { httpsAgent } from './tunnel.ts';

/** One step that a trace shows. */
export type SpanOptions = {
  readonly kind: 'server' | 'producer';
  /** W3C traceparent of its parent span; without one it starts a trace. */
  readonly parent: string | undefined;
  /** Under OpenTelemetry's names. Never a body, a key or a token. */
  readonly attributes: Readonly<Record<string, string | number>>;
};

export type SpanEnd = {
  readonly attributes?: Readonly<Record<string, string | number>>;
  /** The code of the error table, where it failed. */
  readonly errorCode?: string;
};

export type OpenSpan = {
  /** This span's, for the next hop. */
  readonly traceparent: string;
  end(how?: SpanEnd): void;
};

/** Starts spans. Where tracing is off there is none, and nothing is called. */
export type Tracer = {
  start(name: string, options: SpanOptions): OpenSpan;
};

/** W3C Trace Context; what a later version may add behind these four parts is not understood, and left out. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

export type TraceContext = { readonly traceId: string; readonly spanId: string; readonly flags: number };

/** The parts of a traceparent, or null where the text is none. */
export function readTraceparent(text: string | undefined): TraceContext | null {
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(text ?? '') ?? [];
  if (traceId === '' || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

export const writeTraceparent = ({ traceId, spanId, flags }: TraceContext): string =>
  `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`;

/** Each export that fails says so, of which there can be many a second: those that differ in numbers alone are of one kind. */
const kindOf = (message: string) => message.replaceAll(/\d+/g, 'N').slice(0, 100);

/** Spans wait for their export so long at most, and one export may take so long. */
const EXPORT = { everyMs: 2_000, deadlineMs: 5_000 };

/**
 * Spans to a collector, by OTLP over HTTP. The packages are loaded here and only now: a process that doesn't trace
 * pays nothing for them. A collector that is unavailable costs spans, never a webhook.
 */
export async function openTracing(deps: {
  /** Of the collector, without a path. */
  readonly endpoint: string;
  /** Share of the traces that begin here; those that come with a webhook follow its sampled flag. */
  readonly ratio: number;
  readonly proxy: ProxySettings;
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
  const log = createThrottledLog(deps.logger);
  const say = (message: string, ...more: unknown[]) =>
    log.warn({ fault: kindOf(message) }, 'tracing', () => ({ message, more: more.map(String) }));
  diag.setLogger({ error: say, warn: say, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN);
  const { protocol, hostname: host, port } = new URL(deps.endpoint);
  const isProxied = protocol === 'https:' && proxyTo(deps.proxy, { host, port: Number(port || 443) });
  const exporter = new OTLPTraceExporter({
    url: `${deps.endpoint}/v1/traces`,
    timeoutMillis: EXPORT.deadlineMs,
    // Its own agent has the certificates of OTEL_EXPORTER_OTLP_CERTIFICATE and the like.
    ...(isProxied && {
      httpAgentOptions: () =>
        httpsAgent({ keepAlive: true }, { ...deps.proxy, connectMs: EXPORT.deadlineMs }),
    }),
  });
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({ 'service.name': deps.serviceName }),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(deps.ratio) }),
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
      // While the collector is unavailable the last spans are lost. The process stops normally all the same.
      await provider.shutdown().catch((error: Error) => say(error.message));
      diag.disable();
      log.stop();
    },
  };
}
