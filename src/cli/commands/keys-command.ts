import type { Command } from 'commander';
import { collect } from '../shell/option-values.ts';
import { printRows } from '../shell/print-rows.ts';
import { type ExitCode, type Run, type Shell, UsageError } from '../shell/shell.ts';

type Options = { ingress?: string[]; ref?: string; json?: boolean };
type Row = { ref: string; use: string; key: string; lastMatched: string | null; matches: number };

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
  const samples = (await Promise.all(ingress.map((url) => readSamples(url, shell.signal)))).flat();
  const rows = keyRows(samples).filter((row) => ref === undefined || row.ref === ref);
  printRows(shell, json === true, rows);
  if (!json) shell.note('key 0 is the current one; matches are counted since each ingress started');
  return rows.length > 0 ? 0 : 1;
}

async function readSamples(url: string, signal: AbortSignal): Promise<Sample[]> {
  if (!URL.canParse(url))
    throw new UsageError(`--ingress is ${JSON.stringify(url)}: give an address such as ${DEFAULT_INGRESS}.`);
  try {
    const all = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const answer = await fetch(new URL('/metrics', url), { signal: all });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return samplesIn(await answer.text());
  } catch (error) {
    const { message, cause } = error as Error;
    const why = cause instanceof Error ? cause.message : message;
    throw new Error(
      `${url}/metrics does not answer (${why}): give the admin address of an ingress with --ingress.`,
      {
        cause: error,
      },
    );
  }
}

/** A key is live if any process has it: all learn of a change within about a second. */
function keyRows(samples: readonly Sample[]): Row[] {
  const of = (name: string) => samples.filter((sample) => sample.name === name);
  const counts = new Map<string, Sample>();
  for (const sample of of('hookline_keys_live')) {
    const which = JSON.stringify([sample.labels.ref, sample.labels.use]);
    if ((counts.get(which)?.value ?? 0) < sample.value) counts.set(which, sample);
  }
  const rows = [...counts.values()].flatMap(({ labels: { ref = '', use = '' }, value }) =>
    Array.from({ length: value }, (_, index): Row => {
      const key = String(index);
      const isIt = ({ labels }: Sample) => labels.ref === ref && labels.use === use && labels.key === key;
      const times = of('hookline_key_last_matched_timestamp_seconds').filter(isIt);
      const latest = Math.max(0, ...times.map((sample) => sample.value));
      const matches = of('hookline_key_matches_total')
        .filter(isIt)
        .reduce((sum, one) => sum + one.value, 0);
      return {
        ref,
        use,
        key,
        lastMatched: latest > 0 ? new Date(latest * 1_000).toISOString() : null,
        matches,
      };
    }),
  );
  return rows.sort((a, b) => (`${a.ref} ${a.use} ${a.key}` < `${b.ref} ${b.use} ${b.key}` ? -1 : 1));
}

/** One line of a scrape. */
type Sample = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** Parses Prometheus' text format; ignores comments and lines that it cannot parse. */
export function samplesIn(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = LINE.exec(line) ?? [];
    if (name === undefined || value === undefined) return [];
    const pairs = [...labels.matchAll(LABEL)].map(([, label = '', text = '']) => [label, unescaped(text)]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

const unescaped = (text: string) => text.replaceAll(/\\(.)/g, (_, one: string) => (one === 'n' ? '\n' : one));
