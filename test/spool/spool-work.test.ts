import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HooklineError } from '../../src/core/errors.ts';
import type { Answer } from '../../src/runtime/worker-calls.ts';
import { FILE_NAME } from '../../src/spool/database.ts';
import { SpoolFile } from '../../src/spool/spool-file.ts';
import { type SpoolAnswer, type SpoolRequest, type SpoolState, toRow } from '../../src/spool/spool-row.ts';
import { SpoolWork, type SpoolWorkDeps } from '../../src/spool/spool-work.ts';
import { verified } from '../support/delivery-parts.ts';

type OpenOptions = Parameters<SpoolWorkDeps['openFile']>[0];

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'hookline-spool-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const failing = () => new HooklineError('SPOOL_FAILING', 'simulated');
const appendOf = (n: number): SpoolRequest => ({ kind: 'append', row: toRow(verified(`{"n":${n}}`)) });

/** The thread's work on a real file, of which what `fails` names fails. */
class FailingFile extends SpoolFile {
  fails = new Set<'state' | 'append'>();

  override state() {
    if (this.fails.has('state')) throw failing();
    return super.state();
  }

  override append(rows: Parameters<SpoolFile['append']>[0]) {
    if (this.fails.has('append')) throw failing();
    // As a disk with space for one.
    if (rows.length > 1) throw new HooklineError('SPOOL_FULL', 'simulated');
    super.append(rows);
    if (this.fails.size === 0 && rows.some(({ body }) => String(Buffer.from(body)).includes('last')))
      this.fails.add('append');
  }
}

function worked(atOpening: readonly ('state' | 'append')[] = [], firstTry = (_: OpenOptions) => {}) {
  const files: FailingFile[] = [];
  const answers: Answer<SpoolAnswer>[] = [];
  let state: SpoolState | undefined;
  let tries = 0;
  const work = new SpoolWork({
    options: { dir, maxBytes: 1024 ** 2 },
    openFile: (options) => {
      if (tries++ === 0) firstTry(options);
      const file = new FailingFile(options);
      if (files.length === 0) file.fails = new Set(atOpening);
      files.push(file);
      return file;
    },
    port: {
      answer: (more, { events = [] } = {}) => {
        answers.push(...more);
        state = events.at(-1) ?? state;
      },
      close() {},
    },
  });
  return {
    files,
    answers,
    do: (...requests: SpoolRequest[]) => work.execute(requests.map((request, n) => ({ n, request }))),
    get rows() {
      return state?.rows;
    },
    get damage() {
      return [state?.isDamaged, state?.damagedCopy];
    },
  };
}

describe('the numbers of a spool', () => {
  it('have what was acknowledged where its disk cannot be read right after', () => {
    const spool = worked();
    spool.do({ kind: 'open' });
    spool.files[0]?.fails.add('state');
    spool.do(appendOf(1));
    expect([spool.answers.at(-1), spool.rows]).toEqual([{ n: 0, result: {} }, 1]);
    spool.do(appendOf(2));
    expect([spool.files.length, spool.rows]).toEqual([2, 2]);
    spool.do({ kind: 'close' });
  });

  it('have what an earlier process left where the disk cannot be read once it is open', () => {
    const before = worked();
    before.do(appendOf(1), { kind: 'close' });
    const spool = worked(['state']);
    spool.do({ kind: 'open' });
    expect([spool.answers, spool.rows]).toEqual([[{ n: 0, result: {} }], 1]);
    spool.do({ kind: 'close' });
  });

  it('have the first half of a group whose second half has failed', () => {
    const spool = worked();
    const last: SpoolRequest = { kind: 'append', row: toRow(verified('{"n":"last"}')) };
    spool.do(last, appendOf(2));
    const [first, second] = spool.answers;
    expect([first, second, spool.rows]).toMatchObject([
      { result: {} },
      { fault: { code: 'SPOOL_FAILING' } },
      1,
    ]);
    spool.do({ kind: 'close' });
  });
});

it('the id of a row is not given again when the disk has failed: a removal that is repeated takes no newer row', () => {
  const spool = worked();
  spool.do(appendOf(1));
  spool.do({ kind: 'remove', ids: [1] });
  spool.files[0]?.fails.add('state');
  // Its numbers fail: it is closed.
  spool.do({ kind: 'probe' });
  spool.do(appendOf(2));
  spool.do({ kind: 'remove', ids: [1] });
  expect([spool.files.length, spool.rows]).toEqual([2, 1]);
  spool.do({ kind: 'close' });
});

it('a file without rows that is only closed to be opened again, as the disk has failed, stays as it is', () => {
  const spool = worked(['state']);
  spool.do({ kind: 'open' });
  const file = new DatabaseSync(join(dir, FILE_NAME));
  expect(file.prepare('SELECT count(*) AS rows FROM deliveries').get()).toEqual({ rows: 0 });
  file.close();
  spool.do({ kind: 'close' });
});

describe('a damaged log', () => {
  it('is told of until a file is open, where the first try to open it has failed behind it', () => {
    const spool = worked([], ({ onDamage }) => {
      onDamage({ isDamaged: true, damagedCopy: 'a.damaged' });
      throw failing();
    });
    spool.do({ kind: 'open' }, { kind: 'probe' });
    expect(spool.answers).toMatchObject([
      { fault: { code: 'SPOOL_FAILING', detail: expect.stringContaining('a copy is in a.damaged') } },
      { result: {} },
    ]);
    expect(spool.damage).toEqual([true, 'a.damaged']);
    spool.files[0]?.fails.add('state');
    // It is opened once more, and nothing is found.
    spool.do({ kind: 'probe' }, { kind: 'probe' });
    expect([spool.files.length, spool.damage]).toEqual([2, [false, null]]);
    spool.do({ kind: 'close' });
  });
});

describe('a count of late rows', () => {
  it('opens the file also where it has nothing to count', () => {
    const spool = worked();
    spool.do({ kind: 'count-late', before: 1 }, { kind: 'count-late', before: 1 });
    spool.files[0]?.fails.add('state');
    // Its numbers fail: it is closed.
    spool.do({ kind: 'probe' });
    expect(spool.files).toHaveLength(1);
    spool.do({ kind: 'count-late', before: 1 });
    expect(spool.files).toHaveLength(2);
    spool.do({ kind: 'close' });
  });
});
