import { HooklineError, hasCode } from '../core/errors.ts';
import type { Answer, Call, CallPort, ThreadFault } from '../runtime/worker-calls.ts';
import type { SpoolFile } from './spool-file.ts';
import {
  type AppendRequest,
  damageText,
  type LateCount,
  type LogDamage,
  type SpoolAnswer,
  type SpoolRequest,
  type SpoolState,
  type ThreadOptions,
  UNDAMAGED,
} from './spool-row.ts';

/** Bytes of one transaction; a larger body has one of its own. */
const GROUP_BYTES = 8 * 1024 * 1024;
/** Rows whose removal is one transaction: the reserve must suffice for what it writes. */
const GROUP_REMOVALS = 1_000;
/** Larger bodies are transferred instead of copied. */
const TRANSFER_BYTES = 65_536;

const NOTHING: SpoolAnswer = {};

/** The file, as far as it is needed here. */
export type OpenFile = Pick<
  SpoolFile,
  'append' | 'read' | 'readable' | 'remove' | 'probe' | 'countLate' | 'counts' | 'state' | 'nextId' | 'close'
>;

type OpenOptions = ThreadOptions & {
  readonly nextId: number;
  readonly damage: LogDamage;
  readonly onDamage: (damage: LogDamage) => void;
};

export type SpoolWorkDeps = {
  readonly options: ThreadOptions;
  /** @throws HooklineError SPOOL_IN_USE, SPOOL_INVALID, SPOOL_FAILING, SPOOL_FULL */
  readonly openFile: (options: OpenOptions) => OpenFile;
  readonly port: Pick<CallPort<SpoolRequest, SpoolAnswer, SpoolState>, 'answer' | 'close'>;
};

/**
 * What the spool's thread does with the calls that have arrived: all appends that follow each other are one transaction
 * with one sync, and so are removals.
 */
export class SpoolWork {
  readonly #deps: SpoolWorkDeps;
  #options: ThreadOptions;
  #file: OpenFile | null = null;
  /** The last numbers: rows that were acknowledged count also while the file cannot be read. */
  #last: Omit<SpoolState, 'late'> | null = null;
  /** Survives a reopening of the file: a removal that is repeated after a failure must not remove a newer row. */
  #nextId = 1;
  #isOpened = false;
  /** What tries to open the file have found that failed. */
  #damage = UNDAMAGED;
  /** Survives a reopening too: what was counted is not counted again. */
  #late: LateCount = { before: Number.MIN_SAFE_INTEGER, fromId: 0, count: 0 };

  constructor(deps: SpoolWorkDeps) {
    this.#deps = deps;
    this.#options = deps.options;
  }

  /** Executes and answers the calls, in their order. Blocks until the disk has finished. */
  execute(calls: Call<SpoolRequest>[]): void {
    while (calls.length > 0) {
      const group = takeGroup(calls);
      if (group.length > 0) this.#report(this.#appendGroup(group));
      const { ns, ids } = takeRemovals(calls);
      if (ns.length > 0) this.#report(this.#attempt(ns, () => this.#remove(ids)));
      const kind = calls[0]?.request.kind;
      if (kind === 'append' || kind === 'remove') continue;
      const next = calls.shift();
      if (!next) continue;
      const { n, request } = next;
      this.#report(this.#attempt([n], () => this.#perform(request)));
      if (request.kind === 'close') return this.#deps.port.close();
    }
  }

  /** The open file. After a failure it is opened again, with the content of the disk. */
  #opened(): OpenFile {
    if (this.#file) return this.#file;
    const onDamage = (damage: LogDamage) => {
      this.#damage = damage;
    };
    const found = { damage: this.#damage, onDamage };
    this.#file = this.#deps.openFile({ ...this.#options, nextId: this.#nextId, ...found });
    this.#damage = UNDAMAGED;
    this.#isOpened = true;
    return this.#file;
  }

  #attempt(ns: readonly number[], work: () => SpoolAnswer): Answer<SpoolAnswer>[] {
    try {
      const result = work();
      return ns.map((n) => ({ n, result }));
    } catch (error) {
      const fault = this.#faultOf(error);
      if (!hasCode(error, 'SPOOL_FULL')) this.#forget();
      return ns.map((n) => ({ n, fault }));
    }
  }

  /** After the first successful opening, SPOOL_IN_USE and SPOOL_INVALID are reported as a failing disk. */
  #faultOf(error: unknown): ThreadFault {
    const found = this.#damage.isDamaged ? `; ${damageText(this.#damage)}` : '';
    if (!(error instanceof HooklineError)) return { code: 'SPOOL_FAILING', detail: `${error}${found}` };
    const wasOpen = hasCode(error, 'SPOOL_IN_USE', 'SPOOL_INVALID') && this.#isOpened;
    return { code: wasOpen ? 'SPOOL_FAILING' : error.code, detail: `${error.detail ?? ''}${found}` };
  }

  #forget(isLast = false): void {
    if (!this.#file) return;
    this.#nextId = this.#file.nextId;
    this.#last = { bytes: 0, oldestAt: null, ...this.#last, ...this.#file.counts };
    try {
      this.#file.close(isLast);
    } catch {
      // A failing disk may fail here too; the file is opened again in any case.
    }
    this.#file = null;
  }

  /** Appends a group in one transaction. If there is no space for all, tries each half, the older one first. */
  #appendGroup(group: readonly Call<AppendRequest>[]): Answer<SpoolAnswer>[] {
    const ns = group.map(({ n }) => n);
    const answers = this.#attempt(ns, () => {
      this.#opened().append(group.map(({ request }) => request.row));
      return NOTHING;
    });
    const [first] = answers;
    const isFull = first && 'fault' in first && first.fault.code === 'SPOOL_FULL';
    if (!isFull || group.length === 1) return answers;
    const half = Math.ceil(group.length / 2);
    return [...this.#appendGroup(group.slice(0, half)), ...this.#appendGroup(group.slice(half))];
  }

  #remove(ids: readonly number[]): SpoolAnswer {
    this.#opened().remove(ids);
    return NOTHING;
  }

  #perform(request: SpoolRequest): SpoolAnswer {
    if (request.kind === 'renew-keys') {
      this.#options = { ...this.#options, sealingKeys: request.sealingKeys };
      // Opened again, it has the rows that these keys open.
      this.#forget();
      this.#opened();
    }
    if (request.kind === 'open') this.#opened();
    if (request.kind === 'read') return { rows: this.#opened().read(request.limits) };
    if (request.kind === 'readable') return { ids: this.#opened().readable(request.ids) };
    if (request.kind === 'probe') this.#opened().probe();
    if (request.kind === 'count-late') {
      const file = this.#opened();
      if (request.before > this.#late.before) this.#late = file.countLate(this.#late, request.before);
    }
    if (request.kind === 'close') this.#forget(true);
    return NOTHING;
  }

  #report(answers: readonly Answer<SpoolAnswer>[]): void {
    const rows = answers.flatMap((answer) => ('result' in answer ? (answer.result.rows ?? []) : []));
    const bodies = rows.map(({ body }) => body.buffer as ArrayBuffer);
    const transfer = bodies.filter(({ byteLength }) => byteLength > TRANSFER_BYTES);
    this.#deps.port.answer(answers, { events: this.#state(), transfer });
  }

  #state(): SpoolState[] {
    try {
      if (this.#file) this.#last = this.#file.state();
    } catch {
      // The next request meets the same fault and reports it.
      this.#forget();
    }
    return this.#last ? [{ ...this.#last, late: this.#late.count }] : [];
  }
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

/** Takes the removals of one transaction from the head of the queue. */
function takeRemovals(calls: Call<SpoolRequest>[]): { readonly ns: number[]; readonly ids: number[] } {
  const ns: number[] = [];
  const ids: number[] = [];
  for (let next = calls[0]; next?.request.kind === 'remove'; next = calls[0]) {
    if (ns.length > 0 && ids.length + next.request.ids.length > GROUP_REMOVALS) break;
    ns.push(next.n);
    ids.push(...next.request.ids);
    calls.shift();
  }
  return { ns, ids };
}
