import { readSealingKeys } from '../../crypto/sealing.ts';
import { openDeadLetterTopic } from '../../dead-letters/dead-letter-topic.ts';
import type { DeadLetterFilter } from '../../dead-letters/filter.ts';
import { acquireOperatorLease } from '../../dead-letters/operator-lease.ts';
import { redriveAll } from '../../dead-letters/redrive-all.ts';
import { type DeadLetterOutcome, dryRun } from '../../dead-letters/redrive-one.ts';
import { type Due, selectDue } from '../../dead-letters/select-due.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import {
  type Config,
  connectBodyStore,
  connectRedelivery,
  type REDELIVERY_GROUPS,
} from '../shell/connections.ts';
import type { Shell } from '../shell/shell.ts';

/** What a redrive or a dismissal works with, whoever asked for it. */
export type DlqRun = {
  readonly shell: Pick<Shell, 'note' | 'signal'>;
  readonly kafka: KafkaAccess;
  readonly filter: DeadLetterFilter;
  readonly rate: number | undefined;
  readonly limit: number | undefined;
  readonly isDry: boolean;
  /** What it is about, before it begins. */
  readonly onSelected: (selection: Due) => void;
  readonly onProgress: (outcomes: readonly DeadLetterOutcome[]) => void;
};

/** After it a record, or its marker, counts as not published. */
export const PUBLISH_DEADLINE_MS = 15_000;

/** Acquires the lease, reads the topic, redrives the selected records. Ends early when the shell's signal aborts, or the lease is lost. */
export async function runRedrive(
  config: Config<(typeof REDELIVERY_GROUPS)[number]>,
  run: DlqRun & { readonly again: boolean },
): Promise<DeadLetterOutcome[]> {
  const { shell, kafka, filter, rate, limit, isDry, again, onSelected, onProgress } = run;
  const { prefix } = config.topics;
  const opened = new AsyncDisposableStack();
  try {
    const lease = isDry ? null : await acquireOperatorLease(kafka, prefix, shell.signal);
    opened.defer(() => lease?.release());
    const bodies = await connectBodyStore(config);
    const sealingKeys = readSealingKeys(config.subscriptions.sealingKeyFile);
    const topic = await openDeadLetterTopic(kafka, prefix, { bodies, sealingKeys }, shell.signal);
    opened.defer(() => topic.stop());
    const redelivery = await connectRedelivery(shell, config, kafka, {
      publishDeadlineMs: PUBLISH_DEADLINE_MS,
    });
    opened.defer(() => redelivery.stop());
    lease?.signal.addEventListener('abort', () => redelivery.abandon());
    const selection = selectDue(await topic.all(filter), filter, { again, limit });
    onSelected(selection);
    const outcomes = await redriveAll(selection.due, {
      topic,
      redelivery: isDry ? dryRun(redelivery) : redelivery,
      rate,
      signal: AbortSignal.any([shell.signal, ...(lease ? [lease.signal] : [])]),
      check: lease?.check,
      onProgress,
    });
    if (lease?.signal.aborted) shell.note('The lease was lost: another process may redrive now.');
    return outcomes;
  } finally {
    await opened.disposeAsync();
  }
}
