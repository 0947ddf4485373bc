import type { Command } from 'commander';
import { envReader, url } from '../config/env.ts';
import { UsageError } from '../core/errors.ts';
import { collect, ifGiven, secondsAsMs, wholeNumber } from './shell/option-values.ts';
import { printRows } from './shell/print-rows.ts';
import type { ExitCode, Run, Shell } from './shell/shell.ts';

type Options = {
  count: string;
  rate: string;
  entities?: string;
  ref?: string;
  sealed?: boolean;
  layout?: string;
  spelling?: string;
  override?: string[];
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
    .description('makes the sandbox deliver webhooks, and shows the answers; exit code 1 unless all are 2xx')
    .argument('<event>', 'payment-status, accounts-entries or collection-status')
    .option('--count <n>', 'number of messages', '1')
    .option('--rate <n>', 'messages per second', '100')
    .option('--entities <n>', 'number of entities that the messages are about')
    .option('--ref <ref>', 'delivers only to the subscription of this ref')
    .option('--sealed', 'encrypts the bodies')
    .option('--layout <layout>', 'layout of encrypted bodies, as in ENCRYPTION_LAYOUT')
    .option('--spelling <spelling>', 'spelling of the event type: hyphen or underscore')
    .option(
      '--override <pointer=value>',
      'sets a value of the message, such as /payload/status=RJCT; may be repeated',
      collect,
    )
    .option('--seed <n>', 'random seed: the same seed makes the same messages')
    .option('--size <bytes>', 'pads each message to this size')
    .option('--tamper <part>', 'changes this part after signing: signature or body')
    .option('--wrong-key', 'encrypts with a key that the receiver does not have')
    .option('--unknown-type', 'gives the messages a type that no schema has')
    .option('--raw-body <text>', 'sends this text instead of a message')
    .option('--final', 'waits until each is delivered or given up, instead of only for its first attempt')
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
  for (const line of unfinished(answer, options)) shell.note(line);
  const allStored = executions.every(({ status }) => isStored(status));
  const { sent = executions.length } = answer;
  const isComplete = executions.length >= sent;
  if (!isComplete)
    shell.note(
      `${executions.length} of ${sent} are shown, as the sandbox keeps no more; answers: ${answersOf(answer)}`,
    );
  return allStored && !answer.pending && (isComplete || areOthersStored(answer, options)) ? 0 : 1;
}

/** Pending is what is neither delivered nor given up: it can have had an answer, and is sent again. */
function unfinished({ executions = [], pending = 0 }: Answer, { final, timeout }: Options): string[] {
  const unanswered = Math.min(pending, executions.filter(({ attempts }) => attempts.length === 0).length);
  const undelivered = pending - unanswered;
  const within = final ? ` within ${timeout} s` : '';
  const [are, them] = undelivered === 1 ? ['is', 'it'] : ['are', 'them'];
  return [
    ...(unanswered > 0 ? [`${unanswered} had no answer within ${timeout} s`] : []),
    ...(undelivered > 0
      ? [`${undelivered} ${are} not delivered${within}; the sandbox sends ${them} again`]
      : []),
  ];
}

type Answer = {
  message?: string;
  executions?: Execution[];
  pending?: number;
  sent?: number;
  /** Of all deliveries, also of those that are no longer kept. */
  failed?: number;
  /** Attempts of all deliveries by the receiver's status; `none` where there was no answer. */
  answers?: Readonly<Record<string, number>>;
};

const isStored = (status: number | null): boolean => status !== null && status >= 200 && status < 300;

/** As far as counters tell: with --final one may have failed first. */
const areOthersStored = ({ failed, answers = {} }: Answer, { final = false }: Options): boolean =>
  final ? failed === 0 : Object.keys(answers).every((status) => isStored(Number(status)));

const answersOf = ({ answers = {} }: Answer): string =>
  Object.entries(answers)
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ');

/** The sandbox answers within --timeout; this much later it is considered hung. */
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
    if (shell.signal.aborted) throw new Error('interrupted; the sandbox continues');
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
    set: Object.fromEntries((options.override ?? []).map(readOverride)),
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

/** `/payload/status=RJCT`: the value is JSON if it can be parsed, otherwise text. */
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
