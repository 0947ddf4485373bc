import type { Command } from 'commander';
import { UNOBSERVED_FILES } from '../../config/renewed-files.ts';
import { UsageError } from '../../core/errors.ts';
import { type Sample, samplesIn } from '../../monitoring/metric-samples.ts';
import { readProcess } from '../../monitoring/read-process.ts';
import { adminAddressesOf } from '../../runtime/admin-addresses.ts';
import { systemClock } from '../../runtime/clock.ts';
import { createHttp, type Http } from '../../runtime/http-client.ts';
import { orAborted } from '../../runtime/or-aborted.ts';
import { collect } from '../shell/option-values.ts';
import { printRows } from '../shell/print-rows.ts';
import { describeError, type ExitCode, type Run, type Shell } from '../shell/shell.ts';
import { type KeyRow, keyRows } from './key-rows.ts';

type Options = { ingress?: string[]; ref?: string; json?: boolean };

const DEFAULT_INGRESS = 'http://127.0.0.1:9464';
const TIMEOUT_MS = 5_000;

export function addKeysCommand(program: Command, shell: Shell, run: Run): void {
  program
    .command('keys')
    .description('the signing and encryption keys of subscriptions')
    .command('status')
    .description(
      'shows the live keys, and when each last matched a delivery; remove an old key when it no longer matches, and nothing that is stored needs it',
    )
    .option(
      '--ingress <url>',
      `admin address of ingress, all processes behind the name; may be repeated (default: ${DEFAULT_INGRESS})`,
      collect,
    )
    .option('--ref <ref>', 'only the keys of this ref')
    .option('--json', 'print JSON')
    .action(run((options: Options) => status(shell, options)));
}

async function status(shell: Shell, { ingress = [DEFAULT_INGRESS], ref, json }: Options): Promise<ExitCode> {
  const http = createHttp({ tls: {}, files: UNOBSERVED_FILES, clock: systemClock });
  const reading = readIngress(ingress, { http, addressesOf: adminAddressesOf });
  const lives = await orAborted(reading, shell.signal).finally(() => http.stop());
  const samples = lives.flat();
  const rows = keyRows(samples).filter((row) => ref === undefined || row.ref === ref);
  printRows(shell, json === true, rows);
  const processes = lives.length === 1 ? '1 process' : `${lives.length} processes`;
  if (!json) {
    shell.note(
      `key 0 is the current one; matches are counted since each ingress started, or since the keys of the ref changed their order; read from ${processes}`,
    );
    noteStored(shell, rows, samples);
  }
  return rows.length > 0 ? 0 : 1;
}

/** What is stored is opened later, as by a redrive: until then no match shows that it needs an older key. */
function noteStored(shell: Shell, rows: readonly KeyRow[], samples: readonly Sample[]): void {
  const older = rows.filter(({ use, key }) => use === 'encryption' && key !== '0');
  const refs = [...new Set(older.map(({ ref }) => ref))];
  if (refs.length === 0) return;
  const waiting = samples.filter(({ name }) => name === 'hookline_spool_deliveries');
  const count = waiting.reduce((sum, { value }) => sum + value, 0);
  shell.note(
    `before you remove an older encryption key: no delivery may wait in a spool (now: ${count}), and no dead-letter record from before the rotation may be open: hookline dlq list --filter state=open,incomplete --filter ref=${refs.join(',')}`,
  );
}

type Reading = { readonly http: Pick<Http, 'send'>; readonly addressesOf: typeof adminAddressesOf };

/** The samples of each process: all behind a name, as of a headless Service. A key may match in any of them. */
export async function readIngress(
  urls: readonly string[],
  { http, addressesOf }: Reading,
): Promise<Sample[][]> {
  const found = await Promise.all(urls.map((url) => processesAt(url, addressesOf)));
  return Promise.all([...new Set(found.flat())].map((origin) => readSamples(origin, http)));
}

async function processesAt(url: string, addressesOf: Reading['addressesOf']): Promise<string[]> {
  const parsed = URL.parse(url);
  if (!parsed)
    throw new UsageError(`--ingress is ${JSON.stringify(url)}: give an address such as ${DEFAULT_INGRESS}.`);
  // A certificate names a host.
  if (parsed.protocol !== 'http:') return [parsed.origin];
  const addresses = await addressesOf(parsed).catch((error) => {
    throw new Error(`${parsed.host} cannot be looked up: ${describeError(error)}`, { cause: error });
  });
  return addresses.map((address) => `http://${address}`);
}

async function readSamples(url: string, http: Reading['http']): Promise<Sample[]> {
  try {
    const { status, body } = await readProcess(http, url, '/metrics', TIMEOUT_MS);
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
