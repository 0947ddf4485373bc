import type { Command } from 'commander';
import { type Sample, samplesIn } from '../../monitoring/metric-samples.ts';
import { readProcess } from '../../monitoring/read-process.ts';
import { systemClock } from '../../runtime/clock.ts';
import { createHttp, type Http } from '../../runtime/http-client.ts';
import { SILENT } from '../shell/connections.ts';
import { collect } from '../shell/option-values.ts';
import { printRows } from '../shell/print-rows.ts';
import { describeError, type ExitCode, type Run, type Shell, UsageError } from '../shell/shell.ts';
import { keyRows } from './key-rows.ts';

type Options = { ingress?: string[]; ref?: string; json?: boolean };

const DEFAULT_INGRESS = 'http://127.0.0.1:9464';
const TIMEOUT_MS = 5_000;

export function addKeysCommand(program: Command, shell: Shell, run: Run): void {
  program
    .command('keys')
    .description('the signing and encryption keys of subscriptions')
    .command('status')
    .description(
      'shows the live keys, and when each last matched a delivery; remove an old key when it no longer matches',
    )
    .option(
      '--ingress <url>',
      `admin address of an ingress pod; repeat it for each pod (default: ${DEFAULT_INGRESS})`,
      collect,
    )
    .option('--ref <ref>', 'only the keys of this ref')
    .option('--json', 'print JSON')
    .action(run((options: Options) => status(shell, options)));
}

async function status(shell: Shell, { ingress = [DEFAULT_INGRESS], ref, json }: Options): Promise<ExitCode> {
  const http = createHttp({ tls: {}, files: SILENT, clock: systemClock });
  const stop = () => void http.stop();
  shell.signal.addEventListener('abort', stop);
  const read = Promise.all(ingress.map((url) => readSamples(url, http)));
  const samples = (await read.finally(stop)).flat();
  const rows = keyRows(samples).filter((row) => ref === undefined || row.ref === ref);
  printRows(shell, json === true, rows);
  if (!json) shell.note('key 0 is the current one; matches are counted since each ingress started');
  return rows.length > 0 ? 0 : 1;
}

async function readSamples(url: string, http: Http): Promise<Sample[]> {
  if (!URL.canParse(url))
    throw new UsageError(`--ingress is ${JSON.stringify(url)}: give an address such as ${DEFAULT_INGRESS}.`);
  try {
    const { status, body } = await readProcess(http, new URL(url).origin, '/metrics', TIMEOUT_MS);
    if (status !== 200) throw new Error(`status ${status}`);
    return samplesIn(body);
  } catch (error) {
    throw new Error(
      `${url}/metrics does not answer (${describeError(error)}): give the admin address of an ingress with --ingress.`,
      {
        cause: error,
      },
    );
  }
}
