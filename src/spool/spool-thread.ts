/**
 * The spool's thread, so that the disk blocks only this thread. Requests that arrive meanwhile are executed together: all
 * appends among them are one transaction with one sync.
 */

import { workerData } from 'node:worker_threads';
import { HooklineError, hasCode } from '../core/errors.ts';
import { type Answer, type Call, openCallPort, type ThreadFault } from '../runtime/worker-calls.ts';
import { SpoolFile } from './spool-file.ts';
import type {
  AppendRequest,
  LateCount,
  SpoolRequest,
  SpoolState,
  StoredRow,
  ThreadOptions,
} from './spool-row.ts';

/** Bytes of one transaction; a larger body has one of its own. */
const GROUP_BYTES = 8 * 1024 * 1024;
/** Larger bodies are transferred instead of copied. */
const TRANSFER_BYTES = 65_536;

type Rows = readonly StoredRow[];

const port = openCallPort<SpoolRequest, Rows, SpoolState>();
let options = workerData as ThreadOptions;
let file: SpoolFile | null = null;
/** Survives a reopening of the file: a removal that is repeated after a failure must not remove a newer row. */
let nextId = 1;
let isOpened = false;
/** Survives a reopening too: what was counted is not counted again. */
let late: LateCount = { before: Number.MIN_SAFE_INTEGER, fromId: 0, count: 0 };
let waiting: Call<SpoolRequest>[] = [];

/** After the first successful opening, SPOOL_IN_USE and SPOOL_INVALID are reported as a failing disk. */
const faultOf = (error: unknown): ThreadFault => {
  if (!(error instanceof HooklineError)) return { code: 'SPOOL_FAILING', detail: String(error) };
  const wasOpen = hasCode(error, 'SPOOL_IN_USE', 'SPOOL_INVALID') && isOpened;
  return { code: wasOpen ? 'SPOOL_FAILING' : error.code, detail: error.detail ?? '' };
};

/** The open file. After a failure it is opened again, with the content of the disk. */
function opened(): SpoolFile {
  file ??= new SpoolFile({ ...options, nextId });
  isOpened = true;
  return file;
}

function attempt(ns: readonly number[], work: () => Rows): Answer<Rows>[] {
  try {
    const result = work();
    return ns.map((n) => ({ n, result }));
  } catch (error) {
    const fault = faultOf(error);
    if (!hasCode(error, 'SPOOL_FULL')) forget();
    return ns.map((n) => ({ n, fault }));
  }
}

function forget(): void {
  nextId = file?.nextId ?? nextId;
  try {
    file?.close();
  } catch {
    // A failing disk may fail here too; the file is opened again in any case.
  }
  file = null;
}

/** Takes the appends of one transaction from the head of the queue. */
function takeGroup(calls: Call<SpoolRequest>[]): Call<AppendRequest>[] {
  const group: Call<AppendRequest>[] = [];
  let bytes = 0;
  for (let next = calls[0]; next?.request.kind === 'append'; next = calls[0]) {
    bytes += next.request.row.body.byteLength;
    if (group.length > 0 && bytes > GROUP_BYTES) break;
    group.push({ n: next.n, request: next.request });
    calls.shift();
  }
  return group;
}

/** Appends a group in one transaction. If there is no space for all, tries each half, the older one first. */
function appendGroup(group: readonly Call<AppendRequest>[]): Answer<Rows>[] {
  const ns = group.map(({ n }) => n);
  const answers = attempt(ns, () => {
    opened().append(group.map(({ request }) => request.row));
    return [];
  });
  const [first] = answers;
  const isFull = first && 'fault' in first && first.fault.code === 'SPOOL_FULL';
  if (!isFull || group.length === 1) return answers;
  const half = Math.ceil(group.length / 2);
  return [...appendGroup(group.slice(0, half)), ...appendGroup(group.slice(half))];
}

function perform(request: Exclude<SpoolRequest, AppendRequest>): Rows {
  if (request.kind === 'renew-keys') {
    options = { ...options, sealingKeys: request.sealingKeys };
    // Opened again, it has the rows that these keys open.
    forget();
    opened();
  }
  if (request.kind === 'open') opened();
  if (request.kind === 'read') return opened().read(request.limits);
  if (request.kind === 'remove') opened().remove(request.ids);
  if (request.kind === 'probe') opened().probe();
  if (request.kind === 'count-late' && request.before > late.before)
    late = opened().countLate(late, request.before);
  if (request.kind === 'close') forget();
  return [];
}

function report(answers: readonly Answer<Rows>[]): void {
  const rows = answers.flatMap((answer) => ('result' in answer ? answer.result : []));
  const bodies = rows.map(({ body }) => body.buffer as ArrayBuffer);
  const transfer = bodies.filter(({ byteLength }) => byteLength > TRANSFER_BYTES);
  port.answer(answers, { events: state(), transfer });
}

function state(): SpoolState[] {
  try {
    return file ? [{ ...file.state(), late: late.count }] : [];
  } catch {
    // The next request meets the same fault and reports it.
    forget();
    return [];
  }
}

function work(): void {
  const calls = waiting;
  waiting = [];
  while (calls.length > 0) {
    const group = takeGroup(calls);
    if (group.length > 0) report(appendGroup(group));
    if (calls[0]?.request.kind === 'append') continue;
    const next = calls.shift();
    if (!next || next.request.kind === 'append') continue;
    const { n, request } = next;
    report(attempt([n], () => perform(request)));
    if (request.kind === 'close') return port.close();
  }
}

port.onCalls((calls) => {
  if (waiting.length === 0) setImmediate(work);
  waiting.push(...calls);
});
