import { userInfo } from 'node:os';
import { parseDismissal } from '../../dead-letters/dismiss-all.ts';
import { connectKafka, loadConfig } from '../shell/connections.ts';
import type { ExitCode, Shell } from '../shell/shell.ts';
import { type RunOptions, reportedRun } from './report-run.ts';
import { runDismiss } from './run-dismiss.ts';

export type DismissOptions = RunOptions & { reason?: string; by?: string };

/** `hookline dlq dismiss` */
export async function dismiss(shell: Shell, options: DismissOptions): Promise<ExitCode> {
  const dismissal = parseDismissal({ ...options, by: options.by ?? userName() });
  const { run, print } = reportedRun(shell, options);
  const config = loadConfig(shell, 'kafka', 'topics');
  const kafka = connectKafka(config);
  return print(await runDismiss(config, { ...run, kafka, dismissal }), 'dismissed');
}

/** In a container the user may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? ''}`.trim();
  }
}
