import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { NO_PROXIES } from '../../src/config/proxy.ts';
import { openTracing, readTraceparent } from '../../src/runtime/tracing.ts';
import { capturedLog } from '../support/captured-log.ts';
import { openCollector } from '../support/collector.ts';
import { openBehindProxy } from '../support/connect-proxy.ts';
import { serve } from '../support/serve.ts';
import { readTree } from '../support/source-tree.ts';
import { until } from '../support/until.ts';

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const options = (parent?: string) => ({ kind: 'server' as const, parent, attributes: { one: 1 } });

async function open(endpoint: string, ratio = 1) {
  const { logger, lines } = capturedLog();
  const tracing = await openTracing({
    proxy: NO_PROXIES,
    endpoint,
    ratio,
    serviceName: 'hookline-test',
    logger,
  });
  return { ...tracing, lines };
}

describe('tracing', () => {
  it('sends a span to the collector, under the parent that it was given', async () => {
    await using collector = await openCollector();
    const { tracer, stop } = await open(collector.url);
    const span = tracer.start('a step', options(PARENT));
    span.end({ attributes: { two: 'more' } });
    await stop();
    const [seen] = collector.spans;
    expect(seen).toMatchObject({
      name: 'a step',
      service: 'hookline-test',
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      parentSpanId: '00f067aa0ba902b7',
      attributes: { one: 1, two: 'more' },
    });
    expect(readTraceparent(span.traceparent)).toEqual({
      traceId: seen?.traceId,
      spanId: seen?.spanId,
      flags: 1,
    });
  });

  it('names the error of a span that failed', async () => {
    await using collector = await openCollector();
    const { tracer, stop } = await open(collector.url);
    tracer.start('a step', options()).end({ errorCode: 'PUBLISH_DEADLINE' });
    await stop();
    expect(collector.spans[0]).toMatchObject({
      status: { code: 2 },
      attributes: { 'error.type': 'PUBLISH_DEADLINE' },
    });
  });

  it('keeps the share that was asked for, and follows the sender where it has decided', async () => {
    await using collector = await openCollector();
    const { tracer, stop } = await open(collector.url, 0);
    tracer.start('begins here', options()).end();
    tracer.start('sampled by the sender', options(PARENT)).end();
    const unsampled = tracer.start('not sampled by the sender', options(PARENT.replace(/01$/, '00')));
    unsampled.end();
    await stop();
    expect(collector.spans.map((span) => span.name)).toEqual(['sampled by the sender']);
    expect(readTraceparent(unsampled.traceparent)).toMatchObject({
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      flags: 0,
    });
  });

  it('is not in the way while the collector is unavailable: it says so, and stops all the same', async () => {
    const { tracer, stop, lines } = await open('http://127.0.0.1:9');
    tracer.start('a step', options()).end();
    await stop();
    await until('it is logged', () => lines().some((line) => line.msg === 'tracing'));
  });

  it('says once, and then counts, what a collector that refuses has it say with each export', async () => {
    let refused = 0;
    await using refusing = await serve((request, response) => {
      request.resume();
      refused++;
      response.writeHead(401).end('who are you?');
    });
    const { tracer, stop, lines } = await open(refusing.url);
    const told = () => lines().filter((line) => line.msg?.startsWith('tracing'));
    const EXPORTS = 5;
    for (let n = 1; n <= EXPORTS; n++) {
      // A full batch is exported at once.
      for (let span = 0; span < 512; span++) tracer.start('a step', options()).end();
      await until('it is refused', () => refused === n);
    }
    await stop();
    expect(told()).toHaveLength(2);
    expect(told()[1]).toMatchObject({ count: EXPORTS - 1 });
  });

  it('trusts the authority of OTEL_EXPORTER_OTLP_CERTIFICATE where the collector is reached directly', async () => {
    await using collector = await openCollector();
    await using behind = await openBehindProxy();
    await behind.publish('collector', collector.url);
    vi.stubEnv('OTEL_EXPORTER_OTLP_CERTIFICATE', behind.caFile);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { tracer, stop } = await open(
      `https://127.0.0.1:${behind.proxy.hosts.get('collector.beyond.example')}`,
    );
    tracer.start('a step', options()).end();
    await stop();
    expect(collector.spans).toMatchObject([{ name: 'a step' }]);
  });

  it('is loaded only where it is wanted: nothing in src imports its packages but types', () => {
    const importing = readTree('src').filter((file) =>
      /^(import|export)(?! type)[^;]*'@opentelemetry\//m.test(file.text),
    );
    expect(importing.map((file) => file.path)).toEqual([]);
  });
});
