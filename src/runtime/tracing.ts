/** One step that a trace shows. */
export type SpanOptions = {
  readonly kind: 'server' | 'producer';
  /** W3C traceparent that it belongs under; without one it begins a trace. */
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
  /** For whoever comes next: of this span. */
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
