import type { Command } from 'commander';
import { envReader, url } from '../../config/env.ts';
import { collect, ifGiven, secondsAsMs, wholeNumber } from '../shell/option-values.ts';
import { printRows } from '../shell/print-rows.ts';
import { type ExitCode, type Run, type Shell, UsageError } from '../shell/shell.ts';

type Options = {
  count: string;
  rate: string;
  entities?: string;
  ref?: string;
  sealed?: boolean;
  layout?: string;
  spelling?: string;
  override: string[];
  seed?: string;
  size?: string;
  tamper?: string;
  wrongKey?: boolean;
  unknownType?: boolean;
  rawBody?: string;
  final?: boolean;
  timeout: string;
  json?: boolean;
};

export const sandboxUrlSettings = {
  sandboxUrl: url('SANDBOX_URL', { about: 'address of the sandbox', fallback: 'http://127.0.0.1:8090' }),
};

export function addTriggerCommand(program: Command, shell: Shell, run: Run): void {
  program
    .command('trigger')
    .description('has the sandbox deliver webhooks, and shows the answers; exit code 1 unless all were 2xx')
    .argument('<event>', 'payment-status, accounts-entries or collection-status')
    .option('--count <n>', 'how many messages', '1')
    .option('--rate <n>', 'messages a second', '100')
    .option('--entities <n>', 'over how many entities')
    .option('--ref <ref>', 'only to the subscription of this ref')
    .option('--sealed', 'encrypted')
    .option('--layout <layout>', 'laid out so, as in ENCRYPTION_LAYOUT')
    .option('--spelling <spelling>', 'of the type: hyphen or underscore')
    .option(
      '--override <pointer=value>',
      'sets a value of the message, such as /payload/status=RJCT; may be repeated',
      collect,
      [],
    )
    .option('--seed <n>', 'makes the same messages again')
    .option('--size <bytes>', 'pads each message to this size')
    .option('--tamper <part>', 'changes the signature or the body after signing')
    .option('--wrong-key', 'encrypts with a key that the receiver does not have')
    .option('--unknown-type', 'gives the message a type that no schema claims')
    .option('--raw-body <text>', 'sends this instead of a message')
    .option('--final', 'waits until each is delivered or given up, not only for its first attempt')
    .option('--timeout <seconds>', 'how long to wait', '60')
    .option('--json', 'print JSON')
    .action(run((event: string, options: Options) => trigger(shell, event, options)));
}

type Execution = {
  id: string;
  type: string | null;
  entityId: string | null;
  url: string;
  status: number | null;
  error: string | null;
  attempts: unknown[];
  responseBody: string | null;
};

async function trigger(shell: Shell, event: string, options: Options): Promise<ExitCode> {
  const request = requestOf(event, options);
  const reader = envReader(shell.source);
  const { sandboxUrl } = reader.read(sandboxUrlSettings);
  reader.done({});
  const { ok, status, answer } = await post(shell, sandboxUrl, request);
  if (!ok) throw new UsageError(answer.message ?? `the sandbox answered ${status}`);
  const executions = answer.executions ?? [];
  printRows(shell, options.json === true, executions.map(row));
  if (answer.pending) shell.note(`${answer.pending} without an answer within ${options.timeout} s`);
  const allStored = executions.every(({ status }) => status !== null && status >= 200 && status < 300);
  return allStored && !answer.pending ? 0 : 1;
}

type Answer = { message?: string; executions?: Execution[]; pending?: number };

/** The sandbox answers within the time that the request gives it; later than this it hangs. */
const GRACE_MS = 10_000;

async function post(shell: Shell, sandboxUrl: string, request: ReturnType<typeof requestOf>) {
  try {
    const response = await fetch(`${sandboxUrl}/_sandbox/trigger`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
      signal: AbortSignal.any([shell.signal, AbortSignal.timeout(request.waitMs + GRACE_MS)]),
    });
    return { ok: response.ok, status: response.status, answer: (await response.json()) as Answer };
  } catch (error) {
    if (shell.signal.aborted) throw new Error('interrupted; the sandbox goes on');
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    throw new Error(`no sandbox answers at ${sandboxUrl}: start it, or set SANDBOX_URL`, { cause });
  }
}

function requestOf(event: string, options: Options) {
  return {
    event,
    count: wholeNumber('--count', options.count, { min: 1 }),
    rate: wholeNumber('--rate', options.rate, { min: 1 }),
    entities: ifGiven(options.entities, (text) => wholeNumber('--entities', text, { min: 1 })),
    ref: options.ref,
    sealed: options.sealed,
    layout: options.layout,
    spelling: options.spelling,
    set: Object.fromEntries(options.override.map(readOverride)),
    seed: ifGiven(options.seed, (text) => wholeNumber('--seed', text)),
    sizeBytes: ifGiven(options.size, (text) => wholeNumber('--size', text, { min: 1 })),
    tamper: options.tamper,
    wrongKey: options.wrongKey,
    unknownType: options.unknownType,
    rawBody: options.rawBody,
    wait: options.final ? 'final' : 'first',
    waitMs: secondsAsMs('--timeout', options.timeout),
    bodies: false,
  };
}

/** `/payload/status=RJCT`: what stands behind the sign is JSON where it can be, else text. */
function readOverride(text: string): [string, unknown] {
  const match = /^(\/[^=]*)=(.*)$/s.exec(text);
  if (!match) throw new UsageError(`--override is ${JSON.stringify(text)}: give /pointer=value.`);
  const [, pointer = '', value = ''] = match;
  try {
    return [pointer, JSON.parse(value)];
  } catch {
    return [pointer, value];
  }
}

function row({ id, type, entityId, url: receiver, status, error, attempts, responseBody }: Execution) {
  return {
    execution: id,
    type,
    entity: entityId,
    receiver,
    answer: status ?? error,
    attempts: attempts.length,
    said: responseBody,
  };
}
