import { expect, it } from 'vitest';
import { listOf } from '../../../src/console/subscriptions/subscriptions-page.ts';
import { ingressKeys } from '../../../src/console/watch/ingress-keys.ts';
import type { PodReading } from '../../../src/console/watch/read-pod.ts';
import { Samples } from '../../../src/console/watch/samples.ts';
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

/** The page's list of one subscription. */
function listed(pods: readonly PodReading[]): string {
  const { keys, keysKnown } = ingressKeys(pods);
  const line = {
    ref: 'ledger',
    state: 'ACTIVE' as const,
    subscriptionId: 'sub-1',
    events: ['payment_status'],
    owner: 'payments.commands',
    commandId: 'c-1',
    updatedAt: NOW,
    drift: null,
    keys,
  };
  return String(
    listOf({ at: NOW, subscriptions: [line], foreign: [], isDriftPartial: false, failure: null, keysKnown }),
  );
}

/** What the cell "keys matched" says. */
const cellIn = (page: string) =>
  (/data-title="keys matched">(.*?)<\/td>/s.exec(page)?.[1] ?? '').replaceAll(/<[^>]*>/g, '');

const LIVE = 'hookline_keys_live{ref="ledger",use="signing"} 1';

it('says that it is unknown whether a key matched where ingress does not answer', () => {
  expect(cellIn(listed([ingress('', 'connect ECONNREFUSED')]))).toBe('unknown: ingress does not answer');
  expect(cellIn(listed([ingress(LIVE), ingress('', 'connect ECONNREFUSED')]))).toBe(
    'signing: unknown: ingress does not answer',
  );
  expect(cellIn(listed([ingress('')]))).toBe('no live key');
});

it('says since when a key did not match: ingress counts since its start', () => {
  const start = (iso: string) => `process_start_time_seconds ${Date.parse(iso) / 1_000}`;
  const early = ingress(`${LIVE}\n${start('2026-11-28T08:00:00Z')}`);
  const late = ingress(`${LIVE}\n${start('2026-11-28T09:29:00Z')}`);
  const control = { ...ingress(start('2026-11-28T09:50:00Z')), process: 'control' as const };
  expect(cellIn(listed([early, late, control]))).toBe(
    'signing: not since 2026-11-28 09:29:00Z (start of ingress)',
  );
  expect(cellIn(listed([ingress(LIVE)]))).toBe('signing: not since ingress started');
});

it('has the keys of a cell in one element: a narrow screen lays the cell out as a grid', () => {
  const two = ingress('hookline_keys_live{ref="ledger",use="signing"} 2');
  expect(listed([two])).toMatch(
    /data-title="keys matched"><div><div>signing, signing \(1 before the current one\): [^<]*<\/div><\/div><\/td>/,
  );
});

it('says when a key matched as a time: the page does not change, and an age would soon be untrue', () => {
  const matched = `hookline_key_last_matched_timestamp_seconds{ref="ledger",use="signing",key="0"} ${(NOW - 5_000) / 1_000}`;
  expect(cellIn(listed([ingress(`${LIVE}\n${matched}`)]))).toBe('signing: 2026-11-28 09:59:55Z');
});
