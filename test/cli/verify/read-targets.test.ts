import { afterAll, describe, expect, it } from 'vitest';
import { readTargets } from '../../../src/cli/verify/read-targets.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createHttp } from '../../../src/runtime/http-client.ts';
import { serve } from '../../support/serve.ts';

const http = createHttp({ tls: {}, files: { renewed() {}, unusable() {} }, clock: systemClock });
afterAll(() => http.stop());

const read = (...urls: string[]) =>
  readTargets(
    urls.map((url) => new URL(url)),
    { http, now: () => 9_000 },
  );
const METRICS = `hookline_publish_seconds_count 12
hookline_spool_deliveries 3
process_start_time_seconds 4
hookline_deliveries_total{status="200",stored="kafka"} 10
hookline_deliveries_total{status="200",stored="spool"} 5
hookline_deliveries_total{status="401",stored="none"} 7
`;

describe('the counters of processes that answer', () => {
  it('are those since their start', async () => {
    await using server = await serve((_, response) => response.end(METRICS));
    const { lives, before, unknown } = await read(server.url);
    const { host } = new URL(server.url);
    const counted = { at: 9_000, acknowledged: 15, written: 12, spooled: 3 };
    const life = { process: host, owner: host, base: null, startedAt: 4_000, hasEnded: false };
    expect({ lives, before, unknown }).toEqual({
      before: [],
      unknown: [],
      lives: [{ ...life, first: counted, last: counted }],
    });
  });

  it('are not known of others: each says why, and none fills the memory', async () => {
    await using other = await serve((_, response) => response.end('up 1\n'));
    await using failing = await serve((_, response) => response.writeHead(500).end());
    await using endless = await serve((_, response) => {
      const more = () => {
        while (response.write('x'.repeat(65_536)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    });
    const { lives, unknown } = await read(other.url, failing.url, endless.url);
    expect(lives).toEqual([]);
    expect(unknown.map((why) => why.replace(/^127\.0\.0\.1:\d+ /, ''))).toEqual([
      'is no ingress of this version',
      'answers 500',
      'does not answer: its answer is larger than 4194304 bytes',
    ]);
  });

  it('are counted once of a process that answers at several addresses, also while it counts', async () => {
    let acknowledged = 60;
    const answer = (_: unknown, response: { end(text: string): void }) =>
      response.end(
        METRICS.replace('} 10', `} ${acknowledged++}`).replace('count 12', `count ${acknowledged}`),
      );
    await using four = await serve(answer);
    await using six = await serve(answer);
    const { lives, unknown } = await read(four.url, six.url, four.url);
    expect([lives.map((life) => life.process), unknown]).toEqual([[new URL(four.url).host], []]);
  });

  it.each([
    ['other counters', '} 10', '} 11'],
    ['another start', 'seconds 4', 'seconds 5'],
  ])('are those of two processes where they have %s', async (_, before, after) => {
    await using one = await serve((_request, response) => response.end(METRICS));
    await using other = await serve((_request, response) => response.end(METRICS.replace(before, after)));
    expect((await read(one.url, other.url)).lives).toHaveLength(2);
  });
});
