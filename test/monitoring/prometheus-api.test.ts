import { afterAll, expect, it } from 'vitest';
import { openPrometheusApi, seriesIn } from '../../src/monitoring/prometheus-api.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createHttp } from '../../src/runtime/http-client.ts';
import { serve } from '../support/serve.ts';

const http = createHttp({ tls: {}, files: { renewed() {}, unusable() {} }, clock: systemClock });
afterAll(() => http.stop());

const LIMITS = { timeoutMs: 500, maxAnswerBytes: 10_000 };
const ask = (url: string) =>
  openPrometheusApi({ url, http, ...LIMITS }).ask('POST', '/api/v1/query', { query: 'a b', time: '1' });

it('asks, and gives the data of the answer', async () => {
  const asked: string[] = [];
  await using server = await serve(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    asked.push(`${request.method} ${request.url} ${request.headers['content-type']} ${body}`);
    response.end('{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"}}]}}');
  });
  expect(seriesIn(await ask(server.url))).toEqual([{ metric: { a: 'b' }, values: [] }]);
  const api = openPrometheusApi({ url: server.url, http, ...LIMITS });
  await api.ask('GET', '/api/v1/alerts', { x: 'y' });
  expect(asked).toEqual([
    'POST /api/v1/query application/x-www-form-urlencoded query=a+b&time=1',
    'GET /api/v1/alerts?x=y undefined ',
  ]);
});

it.each([
  ['is no Prometheus', 200, '<html>', 'answers 200: it is no Prometheus'],
  ['says null', 200, 'null', 'answers 200: it is no Prometheus'],
  [
    'refuses the query',
    422,
    '{"status":"error","error":"too many samples"}',
    'answers 422: too many samples',
  ],
  ['says more than the limit', 200, 'x'.repeat(10_001), 'larger than 10000 bytes'],
])('fails where it %s', async (_, status, body, why) => {
  await using server = await serve((_request, response) => response.writeHead(status).end(body));
  await expect(ask(server.url)).rejects.toThrow(why);
});

it('fails in time where the answer does not end', async () => {
  await using server = await serve((_, response) => response.write('{'));
  await expect(ask(server.url)).rejects.toThrow('no whole answer within 500 ms');
});

it.each([null, 'x', {}, { result: 3 }])('%j has no series', (data) => {
  expect(seriesIn(data)).toEqual([]);
});
