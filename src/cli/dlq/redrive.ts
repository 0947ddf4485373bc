import { readSealingKeys } from '../../crypto/sealing.ts';
import { openDeadLetterTopic } from '../../dead-letters/dead-letter-topic.ts';
import { parseFilter } from '../../dead-letters/filter.ts';
import { acquireOperatorLease } from '../../dead-letters/operator-lease.ts';
import { redriveAll } from '../../dead-letters/redrive-all.ts';
import { dryRun } from '../../dead-letters/redrive-one.ts';
import { selectDue } from '../../dead-letters/select-due.ts';
import {
  connectBodyStore,
  connectKafka,
  connectRedelivery,
  loadConfig,
  REDELIVERY_GROUPS,
} from '../shell/connections.ts';
import { ifGiven, wholeNumber } from '../shell/option-values.ts';
import type { ExitCode, Shell } from '../shell/shell.ts';
import { createProgress, noteSkipped, positive, printOutcomes } from './report-run.ts';

export type RedriveOptions = {
  filter?: string[];
  dryRun?: boolean;
  rate?: string;
  limit?: string;
  again?: boolean;
  json?: boolean;
};

const PUBLISH_DEADLINE_MS = 15_000;

/** `hookline dlq redrive`: acquires the lease, reads the topic, redrives the selected records. */
export async function redrive(shell: Shell, options: RedriveOptions): Promise<ExitCode> {
  const filter = parseFilter(options.filter);
  const rate = ifGiven(options.rate, (text) => positive('--rate', text));
  const limit = ifGiven(options.limit, (text) => wholeNumber('--limit', text, { min: 1 }));
  const config = loadConfig(shell, ...REDELIVERY_GROUPS);
  const { prefix } = config.topics;
  const [isDry, json] = [options.dryRun === true, options.json === true];
  const kafka = connectKafka(config);
  const opened = new AsyncDisposableStack();
  try {
    const lease = isDry ? null : await acquireOperatorLease(kafka, prefix, shell.signal);
    opened.defer(() => lease?.release());
    const bodies = await connectBodyStore(config);
    const sealingKeys = readSealingKeys(config.subscriptions.sealingKeyFile);
    const topic = await openDeadLetterTopic(kafka, prefix, { bodies, sealingKeys });
    opened.defer(() => topic.stop());
    const redelivery = await connectRedelivery(shell, config, kafka, {
      publishDeadlineMs: PUBLISH_DEADLINE_MS,
    });
    opened.defer(() => redelivery.stop());
    const selection = selectDue(await topic.all(), filter, { again: options.again === true, limit });
    noteSkipped(shell, selection, ': --again redrives them once more');
    const total = selection.due.length;
    const outcomes = await redriveAll(selection.due, {
      topic,
      redelivery: isDry ? dryRun(redelivery) : redelivery,
      rate,
      signal: AbortSignal.any([shell.signal, ...(lease ? [lease.lost] : [])]),
      onProgress: createProgress(shell, total, isDry),
    });
    if (lease?.lost.aborted) shell.note('The lease was lost: another process redrives now.');
    printOutcomes(shell, outcomes, { total, dryRun: isDry, json });
    return outcomes.every(({ outcome }) => outcome === 'stored') ? 0 : 1;
  } finally {
    await opened.disposeAsync();
  }
}
