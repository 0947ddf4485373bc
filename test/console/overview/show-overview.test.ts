import { expect, it } from 'vitest';
import { type Overview, sectionsOf } from '../../../src/console/overview/show-overview.ts';
import { describePods, keysOf } from '../../../src/console/overview/summarize.ts';
import type { PodReading } from '../../../src/console/watch/read-pod.ts';
import { Samples } from '../../../src/console/watch/samples.ts';
import type { Point } from '../../../src/console/watch/watch.ts';
import { samplesIn } from '../../../src/monitoring/metric-samples.ts';

const NOW = Date.parse('2026-11-28T10:00:00Z');

const ingress = (text: string, fault: string | null = null): PodReading => ({
  address: '10.0.0.1:9464',
  process: 'ingress',
  isReady: fault === null,
  reasons: {},
  fault,
  samples: new Samples(samplesIn(text)),
});

const point = (spooled: number | null, iso: string): Point => ({
  at: Date.parse(iso) / 1_000,
  kafka: 0,
  spool: 0,
  refused: 0,
  failed: 0,
  p50: null,
  p99: null,
  publishP99: null,
  spooled,
  lag: 0,
});

/** The text of a section. */
function shown(id: string, pods: readonly PodReading[] | undefined, more: Partial<Overview> = {}): string {
  const overview: Overview = {
    at: NOW,
    points: [],
    plotsFrom: 'this console',
    latest: point(null, '2026-11-28T10:00:00Z'),
    verdict: { state: 'well', sentence: 'All is well', problems: [] },
    pods: describePods(pods ?? [], NOW),
    lastSpooled: null,
    ...keysOf(pods),
    ...more,
  };
  const html = String(sectionsOf(overview).find((section) => section.id === id)?.html);
  return html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
}

it('does not call the spool of an ingress that does not answer no spool', () => {
  const dead = ingress('', 'connect ECONNREFUSED');
  expect(shown('figures', [dead])).toContain('In the spool unknown ingress does not answer');
  const lastSpooled = point(57, '2026-11-28T09:29:05Z');
  expect(shown('figures', [dead], { lastSpooled })).toContain(
    'In the spool unknown ingress does not answer; last read 57 at 2026-11-28 09:29:05Z',
  );
  expect(shown('figures', [ingress('')])).toContain('no spool');
});

it('does not say that the provider answers, or that nothing has drifted, where no control process works', () => {
  const control = (working: number) => ({
    ...ingress(
      `hookline_control_working ${working}\nhookline_provider_breaker_open 0\nhookline_subscription_drift{kind="missing"} 0`,
    ),
    process: 'control' as const,
  });
  expect(shown('figures', [control(1)])).toContain('Provider answers no token yet Drift 0');
  expect(shown('figures', [control(0)])).toContain('Provider – Drift –');
});

it('says that keys are unknown where an ingress does not answer', () => {
  expect(shown('keys', [ingress('', 'connect ECONNREFUSED')])).toContain('unknown: ingress does not answer');
  expect(shown('keys', [{ ...ingress('', 'no answer'), process: 'unknown' }])).toContain(
    'unknown: a process does not answer',
  );
  expect(shown('keys', undefined)).toContain('unknown: no process is read');
  expect(shown('keys', [ingress('')])).toContain('There are no live keys.');
  const live = 'hookline_keys_live{ref="ledger",use="signing"} 1';
  const half = shown('keys', [ingress(live), ingress('', 'connect ECONNREFUSED')]);
  expect(half).toContain('ledger signing current unknown: ingress does not answer');
  expect(half).toContain('Other keys and later matches are unknown: ingress does not answer.');
});

it('says since when a key without a match did not match: ingress counts since its start', () => {
  const live = 'hookline_keys_live{ref="ledger",use="signing"} 1';
  const start = Date.parse('2026-11-28T09:29:00Z') / 1_000;
  expect(shown('keys', [ingress(`${live}\nprocess_start_time_seconds ${start}`)])).toContain(
    'not since 2026-11-28 09:29:00Z (start of ingress)',
  );
  const many = Array.from({ length: 22 }, (_, n) => `hookline_keys_live{ref="r${n}",use="signing"} 1`);
  expect(shown('keys', [ingress(many.join('\n'))])).toContain(
    '2 further keys matched earlier, or not since ingress started.',
  );
});
