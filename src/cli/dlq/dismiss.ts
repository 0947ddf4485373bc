import { userInfo } from 'node:os';
import { parseDismissal } from '../../dead-letters/dismiss-all.ts';
import { parseFilter } from '../../dead-letters/filter.ts';
import { connectKafka, loadConfig } from '../shell/connections.ts';
import { ifGiven, wholeNumber } from '../shell/option-values.ts';
import type { ExitCode, Shell } from '../shell/shell.ts';
import { createProgress, noteSkipped, positive, printOutcomes } from './report-run.ts';
import { runDismiss } from './run-dismiss.ts';

export type DismissOptions = {
  reason?: string;
  by?: string;
  filter?: string[];
  dryRun?: boolean;
  rate?: string;
  limit?: string;
  json?: boolean;
};

/** `hookline dlq dismiss` */
export async function dismiss(shell: Shell, options: DismissOptions): Promise<ExitCode> {
  const dismissal = parseDismissal({ ...options, by: options.by ?? userName() });
  const filter = parseFilter(options.filter);
  const rate = ifGiven(options.rate, (text) => positive('--rate', text));
  const limit = ifGiven(options.limit, (text) => wholeNumber('--limit', text, { min: 1 }));
  const config = loadConfig(shell, 'kafka', 'topics');
  const [isDry, json] = [options.dryRun === true, options.json === true];
  const progress = createProgress(shell, isDry);
  const outcomes = await runDismiss(config, {
    ...{ shell, kafka: connectKafka(config), filter, rate, limit, isDry, dismissal },
    onSelected(selection) {
      noteSkipped(shell, selection);
      progress.begin(selection.due.length);
    },
    onProgress: progress.show,
  });
  printOutcomes(shell, outcomes, { total: progress.total, dryRun: isDry, json });
  return outcomes.every(({ outcome }) => outcome === 'dismissed') ? 0 : 1;
}

/** In a container the user may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? ''}`.trim();
  }
}
