import { connectKafka, loadConfig, REDELIVERY_GROUPS } from '../shell/connections.ts';
import type { ExitCode, Shell } from '../shell/shell.ts';
import { type RunOptions, reportedRun } from './report-run.ts';
import { runRedrive } from './run-redrive.ts';

export type RedriveOptions = RunOptions & { again?: boolean };

/** `hookline dlq redrive` */
export async function redrive(shell: Shell, options: RedriveOptions): Promise<ExitCode> {
  const { run, print } = reportedRun(shell, options, ': --again redrives them once more');
  const config = loadConfig(shell, ...REDELIVERY_GROUPS);
  const kafka = connectKafka(config);
  return print(await runRedrive(config, { ...run, kafka, again: options.again === true }), 'stored');
}
