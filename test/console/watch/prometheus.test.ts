import { expect, it } from 'vitest';
import { openPrometheus } from '../../../src/console/watch/prometheus.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createHttp } from '../../../src/runtime/http-client.ts';
import { serve } from '../../support/serve.ts';

const NOW = 1_800_000_000_000;

/** Answers as Prometheus' HTTP API does (v1), and keeps what it was asked. */
async function open(match: string) {
  const asked: URL[] = [];
  const server = await serve((request, response) => {
    const url = new URL(request.url ?? '', 'http://prometheus');
    asked.push(url);
    const query = url.searchParams.get('query') ?? '';
    const at = NOW / 1_000;
    const values = query.includes('stored="kafka"')
      ? [
          [at - 15, '2.5'],
          [at, 'NaN'],
        ]
      : [];
    const firing = { alertname: 'HooklineSpoolInUse', severity: 'critical', namespace: 'payments' };
    const annotations = {
      summary: 'In the spool',
      description: 'Restore Kafka.',
      runbook_url: 'https://r.example/#spool',
    };
    const answers: Record<string, unknown> = {
      '/api/v1/query_range': { resultType: 'matrix', result: [{ metric: {}, values }] },
      '/api/v1/query': { resultType: 'vector', result: [{ metric: firing, value: [at, '1'] }] },
      '/api/v1/alerts': {
        alerts: [
          { labels: firing, annotations, state: 'firing' },
          { labels: { ...firing, namespace: 'another' }, annotations, state: 'firing' },
          { labels: { ...firing, alertname: 'HooklineBacklog' }, annotations, state: 'pending' },
          { labels: { alertname: 'NodeDown' }, annotations: {}, state: 'firing' },
        ],
      },
    };
    response.end(JSON.stringify({ status: 'success', data: answers[url.pathname] }));
  });
  const http = createHttp({ tls: {}, files: { renewed() {}, unusable() {} }, clock: systemClock });
  const prometheus = openPrometheus({ url: server.url, match, http, now: () => NOW });
  return {
    prometheus,
    asked,
    async [Symbol.asyncDispose]() {
      await http.stop();
      await server[Symbol.asyncDispose]();
    },
  };
}

it('reads an hour, with a gap where there is no value', async () => {
  await using the = await open('namespace="payments"');
  const points = await the.prometheus.points();
  expect([points.length, points[0]?.at, points.at(-1)?.at]).toEqual([241, NOW / 1_000 - 3_600, NOW / 1_000]);
  expect(points.slice(-2).map(({ kafka, spooled }) => [kafka, spooled])).toEqual([
    [2.5, null],
    [null, null],
  ]);
  for (const { searchParams } of the.asked)
    expect(searchParams.get('query')).toMatch(/hookline_\w+\{namespace="payments"/);
});

it('tells alerts of this installation that fire, with their runbook', async () => {
  await using the = await open('namespace="payments"');
  expect(await the.prometheus.alerts()).toEqual([
    {
      name: 'HooklineSpoolInUse',
      severity: 'critical',
      summary: 'In the spool',
      description: 'Restore Kafka.',
      runbook: 'https://r.example/#spool',
    },
  ]);
});
