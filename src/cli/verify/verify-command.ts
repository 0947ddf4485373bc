import type { Command } from 'commander';
import { envReader, type ValuesOf } from '../../config/env.ts';
import { misspeltHints } from '../../config/misspelt.ts';
import { UsageError } from '../../core/errors.ts';
import { isoOf } from '../../core/instant.ts';
import type { Clock } from '../../runtime/clock.ts';
import { orAborted } from '../../runtime/or-aborted.ts';
import { CLI_GROUPS, connectKafka, loadConfig } from '../shell/connections.ts';
import { type Finding, skipped } from '../shell/finding.ts';
import { collect, instant, secondsAsMs } from '../shell/option-values.ts';
import { jsonValue, printRows } from '../shell/print-rows.ts';
import type { ExitCode, Run, Shell } from '../shell/shell.ts';
import { type SeenProbe, watchForProbe } from './await-probe.ts';
import { type CounterReport, type CounterSource, checkCounters } from './check-counters.ts';
import { type LifeCounts, totalsOf } from './compare-counters.ts';
import { judgeAcknowledgement, judgeRecord } from './judge-probe.ts';
import { makeProbe, type Probe, type ProbeAnswer, readProbeKey, sendProbe } from './send-probe.ts';
import { writeMetricsFile } from './verify-metrics.ts';
import { verifySettings } from './verify-settings.ts';

type Options = {
  url?: string;
  target?: string[];
  since?: string;
  timeout: string;
  metricsFile?: string;
  json?: boolean;
};

export function addVerifyCommand(program: Command, shell: Shell, run: Run): void {
  program
    .command('verify')
    .description(
      'sends a signed probe through ingress, waits for its record, and compares the counters of acknowledged and written records; exit code 1: something is not well; 3: nothing was found, but not everything could be checked',
    )
    .option('--url <url>', 'address of ingress (default: VERIFY_URL)')
    .option(
      '--since <time>',
      'compares the counters since a time or an age (1h); by default the last hour of Prometheus, else since each process started',
    )
    .option('--target <url>', 'admin address of ingress; may be repeated (default: VERIFY_TARGETS)', collect)
    .option('--timeout <seconds>', 'how long to wait for the answer, and then for the record', '30')
    .option('--metrics-file <path>', 'writes the result for the textfile collector of the node exporter')
    .option('--json', 'print JSON')
    .action(run((options: Options) => verify(shell, options)));
}

type Settings = ValuesOf<typeof verifySettings>;

const READING_MS = 10_000;

async function verify(shell: Shell, options: Options): Promise<ExitCode> {
  const timeoutMs = secondsAsMs('--timeout', options.timeout);
  const settings = readSettings(shell, options);
  const config = loadConfig(shell, ...CLI_GROUPS, 'subscriptions');
  const key = await readProbeKey(config.subscriptions.secretsDir);
  const kafka = connectKafka(config);
  const { clock } = kafka;
  const source = sourceOf(settings, options, clock);
  const probe = makeProbe(key, clock);
  const watch = watchForProbe(config, kafka, probe);
  const look = async () => {
    await watch.reading(Math.min(timeoutMs, READING_MS));
    const sentAt = clock.now();
    const answer = await sendProbe(probe, settings, { clock, timeoutMs });
    const seen = answer.fault === null ? await watch.seen(timeoutMs) : null;
    const recordSeconds = seen && (seen.seenAt - sentAt) / 1_000;
    const counters = source && (await checkCounters(source, { config, kafka }));
    return { answer, seen, recordSeconds, counters };
  };
  try {
    const { answer, seen, recordSeconds, counters } = await orAborted(look(), shell.signal);
    const findings = [
      judgeAcknowledgement(answer),
      judgeRecord(answer, seen, { recordSeconds, timeoutMs, trouble: watch.trouble() }),
      ...(counters?.findings ?? [NOT_COMPARED]),
    ];
    const exitCode = verdictOf(findings);
    await report(shell, options, { exitCode, findings, probe, answer, seen, recordSeconds, counters, clock });
    return exitCode;
  } finally {
    await watch.stop();
  }
}

function readSettings(shell: Shell, { url, target }: Options): Settings {
  const env = {
    ...shell.source.env,
    ...(url !== undefined && { VERIFY_URL: url }),
    ...(target !== undefined && { VERIFY_TARGETS: target.join(',') }),
  };
  const reader = envReader({ ...shell.source, env });
  const settings = reader.read(verifySettings);
  if ((settings.certFile === undefined) !== (settings.keyFile === undefined))
    reader.fault('VERIFY_CERT_FILE and VERIFY_KEY_FILE belong together: set both or neither.', [
      'VERIFY_CERT_FILE',
      'VERIFY_KEY_FILE',
    ]);
  return reader.done(settings, misspeltHints({ verify: verifySettings }, env));
}

const HOUR_MS = 3_600_000;

/** Where counters are read; undefined where neither a Prometheus nor an admin address is given. */
function sourceOf(settings: Settings, { since, target }: Options, clock: Clock): CounterSource | undefined {
  const now = clock.wall();
  const sinceMs = since === undefined ? undefined : now - instant(`--since ${since}`, since, now);
  if (sinceMs !== undefined && sinceMs <= 0) throw new UsageError(`--since ${since} is not in the past.`);
  const { prometheusUrl: url, prometheusMatch: match, targets } = settings;
  if (url !== undefined && target === undefined)
    return { kind: 'prometheus', url, match, sinceMs: sinceMs ?? HOUR_MS };
  if (targets.length > 0) return { kind: 'targets', targets, sinceMs };
  if (since !== undefined)
    throw new UsageError('--since needs the counters of ingress: set PROMETHEUS_URL or VERIFY_TARGETS.');
  return undefined;
}

const NOT_COMPARED = skipped(
  'counters',
  'neither PROMETHEUS_URL nor VERIFY_TARGETS is set',
  'set one of them to compare what was acknowledged and written',
);

type Result = {
  readonly exitCode: 0 | 1 | 3;
  readonly findings: readonly Finding[];
  readonly probe: Probe;
  readonly answer: ProbeAnswer;
  readonly seen: SeenProbe | null;
  readonly recordSeconds: number | null;
  readonly counters: CounterReport | undefined;
  readonly clock: Clock;
};

/** 0: well. 1: not well. 3: nothing is wrong, and not everything could be checked. */
function verdictOf(findings: readonly Finding[]): 0 | 1 | 3 {
  if (findings.some(({ state }) => state === 'FAULT')) return 1;
  return findings.some(({ state }) => state === 'unknown') ? 3 : 0;
}

const VERDICTS = { 0: 'well', 1: 'not well', 3: 'could not tell' } as const;

async function report(shell: Shell, { json, metricsFile }: Options, result: Result): Promise<void> {
  const { exitCode, findings, probe, answer, seen, recordSeconds, counters, clock } = result;
  const processes = counters?.processes ?? [];
  const verdict = VERDICTS[exitCode];
  if (json) {
    const { status, stored, seconds: acknowledgeSeconds } = answer;
    const position = seen?.position ?? null;
    const about = {
      id: probe.id,
      eventId: probe.eventId,
      status,
      stored,
      acknowledgeSeconds,
      recordSeconds,
      position,
    };
    shell.print(
      JSON.stringify({ verdict, probe: about, findings, processes: processes.map(row) }, jsonValue, 2),
    );
  } else {
    printRows(shell, false, findings);
    if (processes.length > 0) printRows(shell, false, processes.map(row));
    shell.note(`Verdict: ${verdict}.`);
  }
  if (metricsFile === undefined) return;
  await writeMetricsFile(metricsFile, {
    exitCode,
    recordSeconds,
    at: clock.wall(),
    acknowledgeSeconds: answer.fault === null ? answer.seconds : null,
    missing: counters ? missingOf(counters) : null,
  });
}

/** Not known where a spool cannot be followed, unless what is known is missing already. */
function missingOf({ processes, findings }: CounterReport): number | null {
  const { missing } = totalsOf(processes);
  const isFollowed = !findings.some(({ check, state }) => check === 'spools' && state === 'unknown');
  return processes.length > 0 && (isFollowed || missing > 0) ? missing : null;
}

const row = ({ process, since, until, ...counts }: LifeCounts) => ({
  process,
  since: isoOf(since),
  until: isoOf(until),
  ...counts,
});
