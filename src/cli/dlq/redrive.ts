import { OWN_TOPICS, topicName } from '../../core/names.ts';
import { readSealingKeys } from '../../crypto/sealing.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../delivery/dead-letter/dead-letter-headers.ts';
import { acquireLeaderLease, type HeldLease } from '../../kafka/consume/leader-lease.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import { connectBodyStore, connectKafka, loadConfig } from '../shell/connections.ts';
import { openRedelivery, REDELIVERY_GROUPS } from '../shell/open-redelivery.ts';
import { ifGiven, wholeNumber } from '../shell/option-values.ts';
import { printRows } from '../shell/print-rows.ts';
import { type ExitCode, type Shell, UsageError } from '../shell/shell.ts';
import { openDeadLetterTopic } from './dead-letter-topic.ts';
import { type DeadLetter, stateOf } from './dead-letters.ts';
import { type DeadLetterFilter, parseFilter } from './filter.ts';
import { outcomeRows, progressLine, summaryRows } from './outcomes.ts';
import { redriveAll } from './redrive-all.ts';
import { dryRun, type RedriveOutcome } from './redrive-one.ts';

export type RedriveOptions = {
  filter?: string[];
  dryRun?: boolean;
  rate?: string;
  limit?: string;
  again?: boolean;
  json?: boolean;
};

const PUBLISH_DEADLINE_MS = 15_000;
const PROGRESS_EVERY_MS = 1_000;

/** `hookline dlq redrive`: acquires the lease, reads the topic, redrives the selected records. */
export async function redrive(shell: Shell, options: RedriveOptions): Promise<ExitCode> {
  const filter = parseFilter(options.filter);
  const rate = ifGiven(options.rate, (text) => positive('--rate', text));
  const limit = ifGiven(options.limit, (text) => wholeNumber('--limit', text, { min: 1 }));
  const config = loadConfig(shell, ...REDELIVERY_GROUPS);
  const kafka = connectKafka(config);
  const opened = new AsyncDisposableStack();
  try {
    const lease = options.dryRun ? null : await acquireLease(shell, kafka, config.topics.prefix);
    opened.defer(() => lease?.release());
    const bodies = await connectBodyStore(config);
    const sealingKeys = readSealingKeys(config.subscriptions.sealingKeyFile);
    const topic = await openDeadLetterTopic(kafka, config.topics.prefix, { bodies, sealingKeys });
    opened.defer(() => topic.stop());
    const redelivery = await openRedelivery(shell, config, kafka, { publishDeadlineMs: PUBLISH_DEADLINE_MS });
    opened.defer(() => redelivery.stop());
    const signal = AbortSignal.any([shell.signal, ...(lease ? [lease.lost] : [])]);
    const all = (await topic.all()).filter((deadLetter) => filter.matches(deadLetter));
    const selected = select(shell, all, filter, options.again === true).slice(0, limit);
    const progress = createProgress(shell, selected.length, options.dryRun === true);
    const outcomes = await redriveAll(selected, {
      topic,
      redelivery: options.dryRun ? dryRun(redelivery) : redelivery,
      rate,
      signal,
      onProgress: progress,
    });
    if (lease?.lost.aborted) shell.note('The lease was lost: another process redrives now.');
    if (options.json) printRows(shell, true, outcomeRows(outcomes));
    else printRows(shell, false, summaryRows(outcomes, options.dryRun === true));
    shell.note(progressLine(outcomes, selected.length, options.dryRun === true));
    return outcomes.every(({ outcome }) => outcome === 'stored') ? 0 : 1;
  } finally {
    await opened.disposeAsync();
  }
}

/** Two redrives at once would publish everything twice. */
async function acquireLease(shell: Shell, kafka: KafkaAccess, prefix: string): Promise<HeldLease> {
  const topic = topicName(prefix, OWN_TOPICS.deadLetter);
  const group = { groupId: `${topic}.redrive`, topic, clock: kafka.clock };
  const lease = await acquireLeaderLease({ kafka: kafka.client, ...group, signal: shell.signal });
  if ('holder' in lease) throw new Error(`another redrive is running at ${lease.holder}: wait until it ends`);
  return lease;
}

/**
 * Which of the matching ones are redriven. Commands only if the filter asks for them: the team may no longer want what an
 * old command does.
 */
function select(
  shell: Shell,
  matching: readonly DeadLetter[],
  filter: DeadLetterFilter,
  again: boolean,
): DeadLetter[] {
  const isWanted = ({ headers }: DeadLetter) =>
    headers[NAMES.stage] !== undefined &&
    (headers[NAMES.stage] !== 'COMMAND' || filter.names('stage') || filter.names('at'));
  const wanted = matching.filter(isWanted);
  const due = wanted.filter((deadLetter) => again || stateOf(deadLetter) !== 'redriven');
  const [others, done] = [matching.length - wanted.length, wanted.length - due.length];
  if (others > 0)
    shell.note(
      `${others} command(s) and foreign record(s) skipped: --filter stage=COMMAND includes commands.`,
    );
  if (done > 0) shell.note(`${done} skipped, as they were redriven before: --again redrives them once more.`);
  return due;
}

/** Prints at most one line per second, on standard error. */
function createProgress(
  shell: Shell,
  total: number,
  dryRun: boolean,
): (outcomes: readonly RedriveOutcome[]) => void {
  let printedAt = performance.now();
  return (outcomes) => {
    if (performance.now() - printedAt < PROGRESS_EVERY_MS) return;
    printedAt = performance.now();
    shell.note(progressLine(outcomes, total, dryRun));
  };
}

function positive(option: string, text: string): number {
  const number = Number(text);
  if (!(number > 0 && Number.isFinite(number)))
    throw new UsageError(`${option} is ${JSON.stringify(text)}: give a number above 0.`);
  return number;
}
