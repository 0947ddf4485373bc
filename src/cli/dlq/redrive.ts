import { parseFilter } from '../../dead-letters/filter.ts';
import { connectKafka, loadConfig, REDELIVERY_GROUPS } from '../shell/connections.ts';
import { ifGiven, wholeNumber } from '../shell/option-values.ts';
import type { ExitCode, Shell } from '../shell/shell.ts';
import { createProgress, noteSkipped, positive, printOutcomes } from './report-run.ts';
import { runRedrive } from './run-redrive.ts';

export type RedriveOptions = {
  filter?: string[];
  dryRun?: boolean;
  rate?: string;
  limit?: string;
  again?: boolean;
  json?: boolean;
};

/** `hookline dlq redrive` */
export async function redrive(shell: Shell, options: RedriveOptions): Promise<ExitCode> {
  const filter = parseFilter(options.filter);
  const rate = ifGiven(options.rate, (text) => positive('--rate', text));
  const limit = ifGiven(options.limit, (text) => wholeNumber('--limit', text, { min: 1 }));
  const config = loadConfig(shell, ...REDELIVERY_GROUPS);
  const [isDry, json] = [options.dryRun === true, options.json === true];
  const progress = createProgress(shell, isDry);
  const outcomes = await runRedrive(config, {
    ...{ shell, kafka: connectKafka(config), filter, rate, limit, isDry, again: options.again === true },
    onSelected(selection) {
      noteSkipped(shell, selection, ': --again redrives them once more');
      progress.begin(selection.due.length);
    },
    onProgress: progress.show,
  });
  printOutcomes(shell, outcomes, { total: progress.total, dryRun: isDry, json });
  return outcomes.every(({ outcome }) => outcome === 'stored') ? 0 : 1;
}
