import { openDeadLetterTopic } from '../../dead-letters/dead-letter-topic.ts';
import { type Dismissal, dismissAll } from '../../dead-letters/dismiss-all.ts';
import { acquireOperatorLease } from '../../dead-letters/operator-lease.ts';
import type { DeadLetterOutcome } from '../../dead-letters/redrive-one.ts';
import { selectDue } from '../../dead-letters/select-due.ts';
import { openPublisher, UNOBSERVED } from '../../kafka/open-kafka.ts';
import type { Config } from '../shell/connections.ts';
import { type DlqRun, PUBLISH_DEADLINE_MS } from './run-redrive.ts';

/** Markers are small. */
const BACKLOG_BYTES = 16 * 1024 * 1024;

/** Acquires the lease, reads the topic, marks the selected records. Ends early when the shell's signal aborts, or the lease is lost. */
export async function runDismiss(
  { topics: { prefix } }: Config<'topics'>,
  run: DlqRun & { readonly dismissal: Dismissal },
): Promise<DeadLetterOutcome[]> {
  const { shell, kafka, filter, rate, limit, isDry, dismissal, onSelected, onProgress } = run;
  const opened = new AsyncDisposableStack();
  try {
    const lease = isDry ? null : await acquireOperatorLease(kafka, prefix, shell.signal);
    opened.defer(() => lease?.release());
    const noBodies = { bodies: undefined, sealingKeys: undefined };
    const topic = await openDeadLetterTopic(kafka, prefix, noBodies, shell.signal);
    opened.defer(() => topic.stop());
    const { publisher } = openPublisher(kafka, [topic.topic], {
      backlogBytes: BACKLOG_BYTES,
      observer: UNOBSERVED,
    });
    opened.defer(() => publisher.stop());
    lease?.signal.addEventListener('abort', () => publisher.abandon());
    const selection = selectDue(await topic.all(filter), filter, { limit, foreign: true });
    onSelected(selection);
    const outcomes = await dismissAll(selection.due, {
      dismissal,
      dryRun: isDry,
      rate,
      deadLetterTopic: topic.topic,
      publish: (record) => publisher.publish(record, PUBLISH_DEADLINE_MS),
      signal: AbortSignal.any([shell.signal, ...(lease ? [lease.signal] : [])]),
      check: lease?.check,
      onProgress,
    });
    if (lease?.signal.aborted) shell.note('The lease was lost: another process may redrive or dismiss now.');
    return outcomes;
  } finally {
    await opened.disposeAsync();
  }
}
