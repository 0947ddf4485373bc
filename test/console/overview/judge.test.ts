import { describe, expect, it } from 'vitest';
import { type Evidence, judge } from '../../../src/console/overview/judge.ts';
import { seriesKey } from '../../../src/console/watch/rates.ts';
import type { PodReading } from '../../../src/console/watch/read-pod.ts';
import { Samples } from '../../../src/console/watch/samples.ts';
import { samplesIn } from '../../../src/monitoring/metric-samples.ts';
import { cliUsages } from '../../support/cli-usage.ts';

const pod = (text: string, more: Partial<PodReading> = {}): PodReading => ({
  address: '10.0.0.1:9464',
  process: 'ingress',
  isReady: true,
  reasons: {},
  fault: null,
  samples: new Samples(samplesIn(text)),
  ...more,
});

const evidence = (pods: readonly PodReading[] | undefined, more: Partial<Evidence> = {}): Evidence => ({
  pods,
  hasTargets: true,
  recent: new Map(),
  alerts: [],
  prometheusFault: null,
  deadLettersFault: null,
  now: 1_000_000_000,
  ...more,
});

const recent = (name: string, labels: Record<string, string>, count: number) =>
  new Map([[seriesKey(name, labels), count]]);

it('says that all is well only where something is watched', () => {
  expect(judge(evidence([pod('')]))).toMatchObject({ state: 'well', sentence: 'All is well', problems: [] });
  expect(judge(evidence(undefined)).state).toBe('unknown');
  expect(judge(evidence(undefined, { hasTargets: false })).sentence).toContain('set CONSOLE_TARGETS');
});

/** What happened, how urgent it is, and words of its sentence. */
const CASES: readonly (readonly [what: string, given: Evidence, state: 'act' | 'look', words: string])[] = [
  [
    'a process does not answer',
    evidence([pod('', { fault: 'connect ECONNREFUSED', isReady: false })]),
    'act',
    'does not answer: connect ECONNREFUSED',
  ],
  [
    'a process is not ready',
    evidence([pod('', { isReady: false, reasons: { kafka: 'no broker answers' } })]),
    'act',
    'is not ready: kafka: no broker answers',
  ],
  [
    'webhooks are answered 503',
    evidence([pod('')], { recent: recent('hookline_deliveries_total', { status: '503' }, 4) }),
    'act',
    '4 webhooks were answered 5xx',
  ],
  [
    'signatures are wrong',
    evidence([pod('')], { recent: recent('hookline_deliveries_refused_total', { code: 'UNAUTHENTIC' }, 9) }),
    'act',
    'had a wrong signature',
  ],
  [
    'the spool is in use',
    evidence([pod('hookline_spool_in_use 1\nhookline_spool_deliveries 12')]),
    'act',
    '12 wait',
  ],
  [
    'the spool is half full',
    evidence([pod('hookline_spool_bytes 60\nhookline_spool_max_bytes 100')]),
    'act',
    '60 % full',
  ],
  [
    'a sealing key is gone',
    evidence([pod('hookline_spool_key_missing 3')]),
    'act',
    '3 events in the spool are sealed',
  ],
  [
    'a topic is unsafe',
    evidence([pod('hookline_topic_unsafe{topic="payments.x"} 1')]),
    'act',
    'payments.x can lose',
  ],
  [
    'the object store is unavailable',
    evidence([pod('hookline_body_store_available 0')]),
    'act',
    'object store',
  ],
  [
    'nobody executes commands',
    evidence([pod('hookline_control_working 0', { process: 'control' })]),
    'act',
    'No control process',
  ],
  [
    'the provider is unavailable',
    evidence([pod('hookline_control_working 1\nhookline_provider_breaker_open 1', { process: 'control' })]),
    'act',
    'The provider does not answer',
  ],
  ['repairs are withheld', evidence([pod('hookline_repairs_withheld 7')]), 'act', 'RECONCILE_REPAIR_MAX'],
  [
    'commands wait',
    evidence([pod('hookline_command_lag{topic="c",partition="0"} 500')]),
    'look',
    '500 commands wait',
  ],
  [
    'commands fail',
    evidence([pod('')], { recent: recent('hookline_commands_total', { status: 'FAILED' }, 2) }),
    'look',
    '2 commands failed',
  ],
  [
    'one command fails',
    evidence([pod('')], { recent: recent('hookline_commands_total', { status: 'FAILED' }, 1) }),
    'look',
    '1 command failed',
  ],
  [
    'one webhook is answered 503',
    evidence([pod('')], { recent: recent('hookline_deliveries_total', { status: '503' }, 1) }),
    'act',
    '1 webhook was answered 5xx in five minutes, and not stored.',
  ],
  [
    'one record is dead-lettered',
    evidence([pod('')], { recent: recent('hookline_dead_letters_total', { stage: 'PARSE' }, 1) }),
    'look',
    '1 record was dead-lettered',
  ],
  [
    'one event is in the spool, and stays',
    evidence([pod('hookline_spool_deliveries 1\nhookline_spool_oldest_seconds 1000')]),
    'look',
    '1 event waits in the spool',
  ],
  [
    'subscriptions drift',
    evidence([
      pod('hookline_subscription_drift{kind="missing"} 2\nhookline_subscription_drift{kind="foreign"} 9'),
    ]),
    'look',
    '2 subscriptions differ',
  ],
  [
    'an old key is used',
    evidence([pod('hookline_key_last_matched_timestamp_seconds{ref="eu",use="signing",key="1"} 999900')]),
    'look',
    'older signing key',
  ],
  [
    'one dead-letter record is open',
    evidence([pod('hookline_dead_letters_open{stage="PARSE"} 1')]),
    'look',
    '1 dead-letter record is open',
  ],
  [
    'one subscription has drifted',
    evidence([pod('hookline_subscription_drift{kind="missing"} 1')]),
    'look',
    '1 subscription differs at the provider',
  ],
  [
    'dead letters are open',
    evidence([
      pod('hookline_dead_letters_open{stage="PARSE"} 2\nhookline_dead_letters_open{stage="ENCODE"} 1'),
    ]),
    'look',
    '3 dead-letter records are open',
  ],
  [
    'retention will delete an open dead letter',
    evidence([
      pod(
        'hookline_dead_letters_open{stage="PARSE"} 2\nhookline_dead_letters_open_oldest_seconds 2400000\nhookline_dead_letters_retention_seconds 2592000',
      ),
    ]),
    'act',
    'is 27 days old, and the brokers delete it after 30 days',
  ],
  [
    'dead letters are not counted',
    evidence([pod('hookline_dead_letters_counted_timestamp_seconds 996000')]),
    'look',
    'have not been counted for an hour',
  ],
  [
    'no access token is issued',
    evidence([pod('')], {
      recent: recent(
        'hookline_provider_requests_total',
        { operation: 'POST oauth/token', outcome: 'refused' },
        1,
      ),
    }),
    'act',
    'no access token',
  ],
  [
    'comparisons with the provider fail',
    evidence([pod('hookline_comparisons_failed 3')]),
    'look',
    'could not be compared with the state 3 times',
  ],
  [
    'values do not fit',
    evidence([pod('')], { recent: recent('hookline_schema_drift_total', { field: 'a' }, 5) }),
    'look',
    '5 values did not fit',
  ],
  [
    'one value does not fit',
    evidence([pod('')], { recent: recent('hookline_schema_drift_total', { field: 'a' }, 1) }),
    'look',
    '1 value did not fit the schema',
  ],
  [
    'the console may not read the dead-letter topic, and any other one',
    evidence([pod('')], { deadLettersFault: 'payments.dead-letter: this user may not read it' }),
    'look',
    'This console cannot read the dead-letter topic: payments.dead-letter: this user may not read it.',
  ],
  [
    'Prometheus does not answer',
    evidence([pod('')], { prometheusFault: 'no answer' }),
    'look',
    'Prometheus cannot be asked',
  ],
];

describe('what is wrong', () => {
  it.each(CASES)('is said where %s', (_, given, state, words) => {
    const verdict = judge(given);
    expect([verdict.state, verdict.problems.length]).toEqual([state, 1]);
    expect(verdict.problems[0]?.what).toContain(words);
    expect(verdict.problems[0]?.remedy).not.toBe('');
  });

  it('is said with the page that shows more', () => {
    const given = evidence([pod('hookline_dead_letters_open{stage="PARSE"} 2')]);
    const { problems } = judge(given);
    expect(problems.map(({ page }) => page)).toEqual(['/dead-letters']);
  });

  it('is said with the most urgent first', () => {
    const both = judge(
      evidence([pod('hookline_spool_in_use 1\nhookline_dead_letters_open{stage="PARSE"} 2')]),
    );
    expect(both.problems.map(({ severity }) => severity)).toEqual(['act', 'look']);
    expect(both.sentence).toBe('1 problem needs you now');
  });

  it('is said of an alert with its runbook', () => {
    const alert = {
      name: 'HooklineX',
      severity: 'critical',
      summary: 'It fails',
      description: 'Do this.',
      runbook: 'https://r.example/#x',
    };
    expect(judge(evidence([pod('')], { alerts: [alert] })).problems).toEqual([
      { severity: 'act', what: 'It fails (HooklineX)', remedy: 'Do this.', runbook: 'https://r.example/#x' },
    ]);
  });

  it('names commands that there are', async () => {
    const known = [...(await cliUsages()).keys()].filter((name) => name !== '');
    const named = CASES.flatMap(([, given]) => judge(given).problems.flatMap(({ command }) => command ?? []));
    expect(named.length).toBeGreaterThan(5);
    for (const command of new Set(named))
      expect(
        known.some((one) => command.startsWith(`hookline ${one}`)),
        command,
      ).toBe(true);
  });
});
