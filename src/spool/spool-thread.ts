/**
 * The spool's thread: the disk blocks it, and nothing else. Requests that came while it was blocked are done
 * together: all appends among them are one transaction, one sync.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { HooklineError, hasCode } from '../core/errors.ts';
import { SpoolFile } from './spool-file.ts';
import {
  type Answer,
  type AppendRequest,
  OPENED,
  type Report,
  type Request,
  type StoredRow,
  type ThreadOptions,
} from './spool-row.ts';

/** Bytes of one transaction; a body that is larger has one of its own. */
const GROUP_BYTES = 8 * 1024 * 1024;
/** Bodies over it change hands instead of being copied. */
const TRANSFER_BYTES = 65_536;

const port = parentPort;
if (!port) throw new TypeError('this is no program but a thread');
const options = workerData as ThreadOptions;
let file: SpoolFile | null = null;
/** It outlives the file: a removal that is asked for again after a failure must not meet a younger row. */
let nextId = 1;
let isOpened = false;
let waiting: Request[] = [];

/** Once it was open, a file that can't be read or is another's is a disk that fails, for whoever waits for an answer. */
const faultOf = (error: unknown): NonNullable<Answer['fault']> => {
  if (!(error instanceof HooklineError)) return { code: 'SPOOL_FAILING', detail: String(error) };
  const wasOpen = hasCode(error, 'SPOOL_IN_USE', 'SPOOL_INVALID') && isOpened;
  return { code: wasOpen ? 'SPOOL_FAILING' : error.code, detail: error.detail ?? '' };
};

/** The open file; after a failure it is opened anew, from what the disk has. */
function opened(): SpoolFile {
  file ??= new SpoolFile({ ...options, nextId });
  isOpened = true;
  return file;
}

function attempt(ns: readonly number[], work: () => readonly StoredRow[] | undefined): Answer[] {
  try {
    const rows = work();
    return ns.map((n) => (rows ? { n, rows } : { n }));
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
    // A disk that fails may fail at this too; the file is opened anew all the same.
  }
  file = null;
}

/** The appends at the head of the queue that go into one transaction. */
function takeGroup(requests: Request[]): AppendRequest[] {
  const group: AppendRequest[] = [];
  let bytes = 0;
  for (let next = requests[0]; next?.kind === 'append'; next = requests[0]) {
    bytes += next.row.body.byteLength;
    if (group.length > 0 && bytes > GROUP_BYTES) break;
    group.push(next);
    requests.shift();
  }
  return group;
}

/** Where there is no room for all of them there may be for some: each half tries for itself, the older one first. */
function appendGroup(group: readonly AppendRequest[]): Answer[] {
  const ns = group.map(({ n }) => n);
  const answers = attempt(ns, () => {
    opened().append(group.map(({ row }) => row));
    return undefined;
  });
  if (answers[0]?.fault?.code !== 'SPOOL_FULL' || group.length === 1) return answers;
  const half = Math.ceil(group.length / 2);
  return [...appendGroup(group.slice(0, half)), ...appendGroup(group.slice(half))];
}

function carryOut(request: Exclude<Request, AppendRequest>): Answer[] {
  return attempt([request.n], () => {
    if (request.kind === 'open') opened();
    if (request.kind === 'read') return opened().read(request.limits);
    if (request.kind === 'remove') opened().remove(request.ids);
    if (request.kind === 'probe') opened().probe();
    if (request.kind === 'close') forget();
    return undefined;
  });
}

function report(answers: readonly Answer[]): void {
  const bodies = answers.flatMap(({ rows }) => rows ?? []).map(({ body }) => body.buffer as ArrayBuffer);
  const large = bodies.filter(({ byteLength }) => byteLength > TRANSFER_BYTES);
  let state: Report['state'] = null;
  try {
    state = file?.state() ?? null;
  } catch {
    // The next request finds the same fault, and says so.
    forget();
  }
  port?.postMessage({ answers, state } satisfies Report, large);
}

function work(): void {
  const requests = waiting;
  waiting = [];
  while (requests.length > 0) {
    const group = takeGroup(requests);
    if (group.length > 0) report(appendGroup(group));
    const next = requests[0]?.kind === 'append' ? undefined : requests.shift();
    if (next && next.kind !== 'append') report(carryOut(next));
    if (next?.kind === 'close') return void port?.close();
  }
}

port.on('message', (requests: readonly Request[]) => {
  if (waiting.length === 0) setImmediate(work);
  waiting.push(...requests);
});
report(carryOut({ kind: 'open', n: OPENED }));
