import { eventSchemasIn } from '../../avro/event-schema.ts';
import { UNOBSERVED_FILES } from '../../config/renewed-files.ts';
import { isoOf } from '../../core/instant.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import { appendedSince } from '../../kafka/admin/appended-records.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import { createHttp, type Http } from '../../runtime/http-client.ts';
import type { CliConfig } from '../shell/connections.ts';
import { type Finding, fault, ok, unknown } from '../shell/finding.ts';
import { describeError } from '../shell/shell.ts';
import { countLife, type LifeCounts, totalsOf } from './compare-counters.ts';
import { followSpools, owedOf } from './follow-spools.ts';
import { readPrometheus } from './read-prometheus.ts';
import { type LivesRead, readTargets } from './read-targets.ts';

/** Where the counters come from. */
export type CounterSource =
  | { readonly kind: 'prometheus'; readonly url: string; readonly match: string; readonly sinceMs: number }
  /** `sinceMs` undefined: since each process started. */
  | { readonly kind: 'targets'; readonly targets: readonly URL[]; readonly sinceMs: number | undefined };

export type CounterReport = {
  readonly findings: readonly Finding[];
  readonly processes: readonly LifeCounts[];
};

type Deps = { readonly config: CliConfig; readonly kafka: KafkaAccess };

/** Checks that everything acknowledged was written, by the counters of ingress and by what the topics hold. */
export async function checkCounters(source: CounterSource, deps: Deps): Promise<CounterReport> {
  const reaching = { clock: deps.kafka.clock, proxy: deps.config.kafka };
  const http = createHttp({ tls: {}, files: UNOBSERVED_FILES, ...reaching });
  let read: LivesRead;
  try {
    read = await readLives(source, http, deps);
  } catch (error) {
    return { findings: [notCompared(describeError(error))], processes: [] };
  } finally {
    await http.stop();
  }
  const processes = read.lives.map(countLife);
  const findings = read.unknown.map(notCompared);
  findings.push(...followSpools([...read.before, ...read.lives]));
  if (processes.length === 0) return { processes, findings };
  findings.unshift(agreement(processes));
  findings.push(await checkTopics(read, processes, deps));
  return { processes, findings };
}

const REMEDY = 'see hookline verify in docs/operations.md';
const notCompared = (text: string) => unknown('counters', text, REMEDY);

async function readLives(source: CounterSource, http: Http, { kafka: { clock } }: Deps): Promise<LivesRead> {
  const to = clock.wall();
  if (source.kind === 'prometheus')
    return readPrometheus({ ...source, http }, { from: to - source.sinceMs, to });
  const read = await readTargets(source.targets, { http, now: () => clock.wall() });
  if (source.sinceMs === undefined) return read;
  const from = to - source.sinceMs;
  const late = read.lives.filter(({ startedAt }) => startedAt !== null && startedAt > from);
  const restarted = late.map(
    ({ process, startedAt }) =>
      `${process} started at ${isoOf(startedAt ?? from)}: what was counted before is not known, except to a Prometheus`,
  );
  return { ...read, unknown: [...read.unknown, ...restarted] };
}

function agreement(processes: readonly LifeCounts[]): Finding {
  const { acknowledged, written, missing, since } = totalsOf(processes);
  const text = `since ${isoOf(since)}: ${acknowledged} webhooks acknowledged, ${written} records written, by ${processes.length} process(es)`;
  if (missing === 0) return ok('counters', text);
  const where = processes.filter((one) => one.missing > 0).map((one) => one.process);
  return fault(
    'counters',
    `${text}; ${missing} acknowledged and neither written nor in a spool (${where.join(', ')})`,
    'keep the logs of these processes, have the provider replay that time, and report it',
  );
}

/** Earlier than any record of what was acknowledged since: publishing takes its time, and clocks differ. */
const EARLIER_MS = 60_000;

/** The brokers' own word: at least as many records as were acknowledged. */
async function checkTopics(
  { lives }: LivesRead,
  processes: readonly LifeCounts[],
  { config, kafka }: Deps,
): Promise<Finding> {
  const { since } = totalsOf(processes);
  const owed = owedOf(lives);
  try {
    const { prefix } = config.topics;
    const schemas = eventSchemasIn(config.schemas.dir).registered;
    const topics = [...schemas.map(({ topic }) => topic), OWN_TOPICS.deadLetter].map((name) =>
      topicName(prefix, name),
    );
    const { records, deleted } = await appendedSince(kafka.client, topics, since - EARLIER_MS);
    if (records >= owed)
      return ok('topics', `${records} records in ${topics.length} topics, at least ${owed} are needed`);
    if (deleted.length > 0)
      return unknown(
        'topics',
        `records of that time are deleted already in ${deleted.join(', ')}`,
        'see whether retention or somebody has deleted them; --since a later time is compared whole',
      );
    return fault(
      'topics',
      `${records} records in ${topics.length} topics, and ${owed} webhooks were acknowledged`,
      'look for deleted records or topics, and for an ingress whose clock is more than a minute fast; then have the provider replay that time',
    );
  } catch (error) {
    return unknown('topics', describeError(error), 'check KAFKA_BROKERS, and the right Describe');
  }
}
