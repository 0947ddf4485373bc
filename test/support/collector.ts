import { serve } from './serve.ts';

/** A span as OTLP's JSON has it. */
export type SeenSpan = {
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  status: { code?: number };
  attributes: Record<string, unknown>;
  service: unknown;
};

type Attribute = { key: string; value: Record<string, unknown> };
type Export = {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: { spans: (Omit<SeenSpan, 'attributes'> & { attributes: Attribute[] })[] }[];
  }[];
};

/** What stands where an OpenTelemetry collector would: it takes OTLP over HTTP, and keeps the spans. */
export async function openCollector() {
  const spans: SeenSpan[] = [];
  const server = await serve(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.url !== '/v1/traces') return void response.writeHead(404).end();
    const { resourceSpans }: Export = JSON.parse(Buffer.concat(chunks).toString());
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = toObject(resource.attributes)['service.name'];
      for (const span of scopeSpans.flatMap((scope) => scope.spans))
        spans.push({ ...span, attributes: toObject(span.attributes), service });
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  return { ...server, spans };
}

const toObject = (attributes: readonly Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
