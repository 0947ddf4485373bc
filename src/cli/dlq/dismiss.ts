import { userInfo } from 'node:os';
import { openDeadLetterTopic } from '../../dead-letters/dead-letter-topic.ts';
import { dismissAll, parseDismissal } from '../../dead-letters/dismiss-all.ts';
import { parseFilter } from '../../dead-letters/filter.ts';
import { acquireOperatorLease } from '../../dead-letters/operator-lease.ts';
import { selectDue } from '../../dead-letters/select-due.ts';
import { type KafkaAccess, openPublisher } from '../../kafka/open-kafka.ts';
import { connectKafka, loadConfig } from '../shell/connections.ts';
import { ifGiven, wholeNumber } from '../shell/option-values.ts';
import type { ExitCode, Shell } from '../shell/shell.ts';
import { createProgress, noteSkipped, positive, printOutcomes } from './report-run.ts';

export type DismissOptions = {
  reason?: string;
  by?: string;
  filter?: string[];
  dryRun?: boolean;
  rate?: string;
  limit?: string;
  json?: boolean;
};

const PUBLISH_DEADLINE_MS = 15_000;
/** Markers are small. */
const BACKLOG_BYTES = 16 * 1024 * 1024;

/** `hookline dlq dismiss`: acquires the lease, reads the topic, marks the selected records. */
export async function dismiss(shell: Shell, options: DismissOptions): Promise<ExitCode> {
  const dismissal = parseDismissal({ ...options, by: options.by ?? userName() });
  const filter = parseFilter(options.filter);
  const rate = ifGiven(options.rate, (text) => positive('--rate', text));
  const limit = ifGiven(options.limit, (text) => wholeNumber('--limit', text, { min: 1 }));
  const config = loadConfig(shell, 'kafka', 'topics');
  const { prefix } = config.topics;
  const [dryRun, json] = [options.dryRun === true, options.json === true];
  const kafka = connectKafka(config);
  const opened = new AsyncDisposableStack();
  try {
    const lease = dryRun ? null : await acquireOperatorLease(kafka, prefix, shell.signal);
    opened.defer(() => lease?.release());
    const topic = await openDeadLetterTopic(kafka, prefix, { bodies: undefined, sealingKeys: undefined });
    opened.defer(() => topic.stop());
    const publisher = openMarkerPublisher(kafka, topic.topic);
    opened.defer(() => publisher.stop());
    const selection = selectDue(await topic.all(), filter, { limit, foreign: true });
    noteSkipped(shell, selection);
    const total = selection.due.length;
    const outcomes = await dismissAll(selection.due, {
      ...{ dismissal, dryRun, rate, deadLetterTopic: topic.topic },
      publish: (record) => publisher.publish(record, PUBLISH_DEADLINE_MS),
      signal: AbortSignal.any([shell.signal, ...(lease ? [lease.lost] : [])]),
      onProgress: createProgress(shell, total, dryRun),
    });
    if (lease?.lost.aborted) shell.note('The lease was lost: another process redrives or dismisses now.');
    printOutcomes(shell, outcomes, { total, dryRun, json });
    return outcomes.every(({ outcome }) => outcome === 'dismissed') ? 0 : 1;
  } finally {
    await opened.disposeAsync();
  }
}

const openMarkerPublisher = (kafka: KafkaAccess, topic: string) =>
  openPublisher(kafka, [topic], {
    backlogBytes: BACKLOG_BYTES,
    observer: { attempt() {}, confirmed() {}, sessionOpened() {}, troubleChanged() {} },
  }).publisher;

/** In a container the user may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? ''}`.trim();
  }
}
