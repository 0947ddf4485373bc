import { afterAll, describe, expect, it } from 'vitest';
import { countLife } from '../../../src/cli/verify/compare-counters.ts';
import { followSpools, owedOf } from '../../../src/cli/verify/follow-spools.ts';
import { readPrometheus } from '../../../src/cli/verify/read-prometheus.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createHttp } from '../../../src/runtime/http-client.ts';
import { serve } from '../../support/serve.ts';

const FROM = Date.parse('2026-11-25T08:00:00Z');
const TO = FROM + 3_600_000;
const NAMES = ['hookline_spool_deliveries', 'hookline_deliveries_total'] as const;

/** Whether a target was reached, by pod and minute; null: Prometheus has no `up`. */
type Up = Readonly<Record<string, readonly (readonly [minute: number, up: 0 | 1])[]>> | null;
type Scrape = { minute: number; acked: number; spooled?: number; written: number; started: number };

/** A Prometheus that has these scrapes of each pod, with more labels of some, and the queries that it was asked. */
async function prometheus(
  pods: Readonly<Record<string, readonly Scrape[]>>,
  more: Readonly<Record<string, Readonly<Record<string, string | undefined>>>> = {},
  up?: Up,
) {
  const asked: string[] = [];
  const server = await serve(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const text = new URLSearchParams(body).get('query') ?? '';
    asked.push(text);
    const series = (pod: string, of: (one: Scrape) => number, labels = {}) => ({
      metric: {
        __name__: 'x',
        instance: `${pod}:9464`,
        pod: pod.split('@')[0],
        job: 'ingress',
        ...labels,
        ...more[pod],
      },
      values: (pods[pod] ?? []).map((one) => [FROM / 1_000 + one.minute * 60, String(of(one))]),
    });
    const result = Object.keys(pods).flatMap((pod) => {
      if (text.startsWith(NAMES[0])) return [series(pod, ({ spooled = 0 }) => spooled)];
      if (text.startsWith(NAMES[1]))
        return [
          series(pod, ({ acked }) => acked - 1, { status: '200', stored: 'kafka' }),
          series(pod, () => 1, { status: '200', stored: 'spool' }),
        ];
      if (text.startsWith('hookline_publish')) return [series(pod, ({ written }) => written)];
      if (text.startsWith('up{') && up !== undefined) {
        const values = up?.[pod]?.map(([minute, is]) => [FROM / 1_000 + minute * 60, String(is)]);
        return values ? [{ ...series(pod, () => 0), values }] : [];
      }
      return [series(pod, ({ started }) => FROM / 1_000 + started * 60)];
    });
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ status: 'success', data: { resultType: 'matrix', result } }));
  });
  return { ...server, asked, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const http = createHttp({ tls: {}, files: { renewed() {}, unusable() {} }, clock: systemClock });
afterAll(() => http.stop());
const read = (url: string, match = '') => readPrometheus({ url, match, http }, { from: FROM, to: TO });

const old = { started: -600 };

describe('the counters that a Prometheus has', () => {
  it('are those of every process of the period, a restart and a new pod among them', async () => {
    await using server = await prometheus({
      'pod-0': [
        { ...old, minute: 1, acked: 1_000, written: 1_010 },
        { ...old, minute: 20, acked: 1_200, written: 1_210 },
        // Restarted; by the first scrape it has counted more than its predecessor.
        { started: 21, minute: 30, acked: 1_500, written: 1_500 },
        { started: 21, minute: 59, acked: 1_600, written: 1_590, spooled: 10 },
      ],
      'pod-1': [{ started: 40, minute: 58, acked: 9, written: 9 }],
    });
    const { lives, unknown } = await read(server.url);
    expect(unknown).toEqual([]);
    expect(lives.map(countLife)).toMatchObject([
      { process: 'pod-0', acknowledged: 200, written: 200, missing: 0 },
      { process: 'pod-0', acknowledged: 1_600, written: 1_590, spooled: 10, missing: 0 },
      { process: 'pod-1', acknowledged: 9, missing: 0 },
    ]);
  });

  it('have what a process left in its spool, also just before the period, and what its next one found there', async () => {
    await using server = await prometheus({
      'pod-0': [{ ...old, minute: -1, acked: 1_000, written: 700, spooled: 300 }],
      // The same pod at another address.
      'pod-0@new': [
        { started: 1, minute: 2, acked: 1, written: 1 },
        { started: 1, minute: 59, acked: 50, written: 50 },
      ],
      'pod-1': [
        { ...old, minute: 1, acked: 10, written: 5, spooled: 5 },
        { started: 20, minute: 21, acked: 1, written: 2, spooled: 4 },
        { started: 20, minute: 59, acked: 1, written: 6 },
      ],
      'pod-2': [
        { ...old, minute: 1, acked: 100, written: 100 },
        { ...old, minute: 30, acked: 200, written: 150, spooled: 50 },
      ],
    });
    const { before, lives, unknown } = await read(server.url);
    expect(unknown).toEqual([]);
    expect(before).toHaveLength(1);
    expect(lives.map(countLife).map(({ missing }) => missing)).toEqual([0, 0, 0, 0]);
    const findings = followSpools([...before, ...lives]);
    expect(findings.map(({ state, finding }) => [state, finding.slice(0, 25)])).toEqual([
      ['unknown', 'pod-0: 300 deliveries wer'],
      ['unknown', 'pod-2: 50 deliveries were'],
    ]);
  });

  it.each([
    ['a pair of Prometheus servers', { prometheus_replica: 'a' }, { prometheus_replica: 'b' }],
    ['two jobs', { job: 'metrics' }, { job: 'pods' }],
    [
      'two jobs, without a label pod',
      { pod: undefined, job: 'metrics', instance: 'x' },
      { pod: undefined, instance: 'x' },
    ],
    ['IPv4 and IPv6', { instance: '10.0.0.7:9464' }, { instance: '[fd00::7]:9464' }],
  ])('are counted once of a pod that is scraped by %s, with gaps of one', async (_, a, b) => {
    const drained = [
      { ...old, minute: 1, acked: 1_000, written: 700, spooled: 300 },
      { ...old, minute: 9, acked: 1_040, written: 740, spooled: 300 },
      { ...old, minute: 29, acked: 1_060, written: 1_060 },
      { started: 30, minute: 31, acked: 5, written: 5 },
      { started: 30, minute: 59, acked: 7, written: 7 },
    ];
    await using server = await prometheus(
      { 'pod-0': drained, 'pod-0@b': drained.filter(({ minute }) => minute < 29 || minute > 31) },
      { 'pod-0': a, 'pod-0@b': b },
    );
    const { before, lives, unknown } = await read(server.url);
    expect(unknown).toEqual([]);
    expect(lives.map(countLife)).toMatchObject([
      { acknowledged: 60, written: 360, missing: 0 },
      { acknowledged: 7, written: 7, missing: 0 },
    ]);
    expect([followSpools([...before, ...lives]), owedOf(lives)]).toEqual([[], 67]);
  });

  it('are asked for by the matchers, over the period', async () => {
    await using server = await prometheus({ 'pod-0': [{ ...old, minute: 59, acked: 1, written: 1 }] });
    await read(server.url, 'namespace="payments"');
    expect(server.asked[0]).toBe('hookline_spool_deliveries{namespace="payments"}[7200s]');
    expect(server.asked[1]).toContain(
      '{status="200",instance=~"pod\\\\-0:9464",namespace="payments"}[7200s]',
    );
  });

  it.each([
    ['no ingress', {}, 'Prometheus has no hookline_spool_deliveries that matches {}'],
    [
      'only the end of the period',
      {
        'pod-0': [
          { ...old, minute: 50, acked: 1, written: 1 },
          { ...old, minute: 59, acked: 1, written: 1 },
        ],
      },
      'Prometheus has no counters of ingress before 2026-11-25T08:50:00.000Z',
    ],
    [
      'only the beginning',
      {
        'pod-0': [
          { ...old, minute: 1, acked: 1, written: 1 },
          { ...old, minute: 9, acked: 1, written: 1 },
        ],
      },
      'Prometheus has scraped no ingress since 2026-11-25T08:09:00.000Z',
    ],
  ])('say where they are incomplete: it has %s', async (_, pods: Record<string, Scrape[]>, why) => {
    await using server = await prometheus(pods);
    expect((await read(server.url)).unknown).toEqual([why]);
  });

  describe('of a process that is scraped no more, while others are', () => {
    const pods = {
      'pod-0': [
        { ...old, minute: 1, acked: 1, written: 1 },
        { ...old, minute: 59, acked: 1, written: 1 },
      ],
      'pod-1': [
        { ...old, minute: 1, acked: 1, written: 1 },
        { ...old, minute: 10, acked: 1, written: 1 },
      ],
      'pod-2': [{ ...old, minute: -30, acked: 1, written: 1 }],
    };
    const running = [[59, 1]] as const;

    it.each<[string, Up, string[]]>([
      ['are not known: Prometheus has no up', null, ['pod-1', 'pod-2']],
      [
        'are not known: Prometheus does not reach it',
        {
          'pod-0': running,
          'pod-1': [
            [10, 1],
            [11, 0],
            [59, 0],
          ],
          'pod-2': [
            [-30, 1],
            [59, 0],
          ],
        },
        ['pod-1', 'pod-2'],
      ],
      [
        'are whole: Prometheus no longer looks for it',
        {
          'pod-0': running,
          'pod-1': [
            [10, 1],
            [11, 0],
          ],
          'pod-2': [[-30, 1]],
        },
        [],
      ],
    ])('%s', async (_, up, wanted) => {
      await using server = await prometheus(pods, {}, up);
      const { unknown } = await read(server.url);
      expect(unknown.map((why) => why.split(':')[0])).toEqual(wanted);
      if (wanted.length > 0)
        expect(unknown[0]).toBe(
          'pod-1: Prometheus has not scraped it since 2026-11-25T08:10:00.000Z, and it may still run: what it has counted since is not known',
        );
    });
  });

  it('cannot be read from what is no Prometheus', async () => {
    await using server = await serve((_, response) => response.end('<html>'));
    await expect(read(server.url)).rejects.toThrow(/answers 200: it is no Prometheus/);
  });
});
