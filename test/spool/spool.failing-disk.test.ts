import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HooklineError } from '../../src/core/errors.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { toError, type WorkerDeps } from '../../src/runtime/worker-calls.ts';
import { Spool } from '../../src/spool/spool.ts';
import { SpoolFile } from '../../src/spool/spool-file.ts';
import type { SpoolAnswer, SpoolRequest, SpoolState, ThreadOptions } from '../../src/spool/spool-row.ts';
import { type OpenFile, SpoolWork } from '../../src/spool/spool-work.ts';
import { verified } from '../support/delivery-parts.ts';
import { manualClock } from '../support/manual-clock.ts';

const MIB = 1024 ** 2;
const ALL = { maxRows: 1_000, maxBytes: MIB };

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'hookline-spool-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const open = () => Spool.open({ clock: systemClock, dir, maxBytes: 64 * MIB, onDeath() {} });
const bodies = async (spool: Spool) => (await spool.read(ALL)).map(({ delivery }) => String(delivery.body));
const row = (n: number) => verified(`{"n":${n}}`);

describe('the spool', () => {
  it.each(['deleted', 'replaced'])(
    'stores nothing in a file that was %s, and publishes what that had',
    async (how) => {
      const spool = await open();
      await spool.append(row(1));
      if (how === 'replaced') renameSync(dir, `${dir}-old`);
      else for (const file of readdirSync(dir)) rmSync(join(dir, file));
      if (how === 'replaced') mkdirSync(dir);
      await expect(spool.append(row(2))).rejects.toThrow('spool.sqlite was deleted or replaced');
      const [first, ...others] = await spool.read(ALL);
      expect([String(first?.delivery.body), others]).toEqual(['{"n":1}', []]);
      await spool.remove([first?.id ?? 0]);
      await expect(spool.append(row(3))).rejects.toMatchObject({ code: 'SPOOL_FAILING' });
      await spool.append(row(4));
      expect(await bodies(spool)).toEqual(['{"n":4}']);
      await spool.close();
      const again = await open();
      expect(await bodies(again)).toEqual(['{"n":4}']);
      await again.close();
      rmSync(`${dir}-old`, { recursive: true, force: true });
    },
  );

  it('takes nothing more for a disk that does not answer, and says so', async () => {
    const clock = manualClock();
    const answers: (() => void)[] = [];
    const thread = {
      isEnded: false,
      call: ({ kind }: SpoolRequest) =>
        new Promise<SpoolAnswer>((resolve) =>
          kind === 'open' ? resolve({}) : answers.push(() => resolve({})),
        ),
      async close() {},
      async terminate() {},
    };
    const spool = await Spool.open({
      clock,
      dir,
      maxBytes: MIB,
      onDeath() {},
      startThread: () => thread as never,
    });
    const waiting = [spool.append(row(1)), spool.append(row(2))];
    await clock.advance(9_000);
    expect(spool.trouble).toBeNull();
    await clock.advance(1_500);
    expect(spool.trouble).toContain('its disk does not answer');
    await expect(spool.append(row(3))).rejects.toMatchObject({ code: 'SPOOL_FAILING' });
    expect(spool.outstanding).toBe(2);
    for (const answer of answers) answer();
    await Promise.all(waiting);
    expect(spool.trouble).toBeNull();
    expect(spool.outstanding).toBe(0);
    await spool.close();
  });

  it.each([
    ['refuses to begin a transaction: an empty one has nothing to read', false],
    ['fails at the end of a transaction: what it has is not known', true],
  ])('whose disk %s', async (_, isUnsure) => {
    let isFailing = false;
    const spool = await Spool.open({
      ...{ clock: systemClock, dir, maxBytes: MIB, onDeath() {} },
      startThread: inThisThread((options) => {
        if (isFailing) throw new HooklineError('SPOOL_FAILING', 'read-only');
        const file: OpenFile = new SpoolFile(options);
        const append = file.append.bind(file);
        return Object.defineProperties(file, {
          append: {
            value(rows: Parameters<OpenFile['append']>[0]) {
              if (!isFailing) return append(rows);
              throw new HooklineError('SPOOL_FAILING', 'read-only');
            },
          },
          isUnsure: { get: () => isFailing && isUnsure },
        });
      }),
    });
    await spool.append(row(1));
    isFailing = true;
    await expect(spool.append(row(2))).rejects.toMatchObject({ code: 'SPOOL_FAILING' });
    // What is on the disk must be read, whatever is certain.
    await expect(spool.read(ALL)).rejects.toMatchObject({ code: 'SPOOL_FAILING' });
    isFailing = false;
    for (const { id } of await spool.read(ALL)) await spool.remove([id]);
    isFailing = true;
    await expect(spool.append(row(3))).rejects.toMatchObject({ code: 'SPOOL_FAILING' });
    expect(spool.outstanding).toBe(0);
    expect(await spool.read(ALL).catch(String)).toEqual(isUnsure ? expect.stringContaining('read-only') : []);
    expect(spool.trouble).toContain('read-only');
    isFailing = false;
    expect(await spool.read(ALL)).toEqual([]);
    await spool.append(row(4));
    expect(await bodies(spool)).toEqual(['{"n":4}']);
    await spool.close();
  });

  it('whose disk fails behind a commit, or again behind an opening, does not say that it is empty', async () => {
    let fails: 'no' | 'at the numbers' | 'at the end, then at a read' = 'no';
    const broken = () => new HooklineError('SPOOL_FAILING', 'broken');
    const spool = await Spool.open({
      ...{ clock: systemClock, dir, maxBytes: MIB, onDeath() {} },
      startThread: inThisThread((options) => {
        const file: OpenFile = new SpoolFile(options);
        const [append, state] = [file.append.bind(file), file.state.bind(file)];
        let hasFailed = false;
        return Object.defineProperties(file, {
          append: {
            value(rows: Parameters<OpenFile['append']>[0]) {
              append(rows);
              hasFailed = fails === 'at the end, then at a read';
              if (hasFailed) throw broken();
            },
          },
          isUnsure: { get: () => hasFailed },
          state: {
            value() {
              if (fails === 'at the numbers') throw broken();
              return state();
            },
          },
          read: {
            value() {
              if (fails === 'no') return [];
              throw broken();
            },
          },
        });
      }),
    });
    for (const how of ['at the numbers', 'at the end, then at a read'] as const) {
      fails = how;
      await spool.append(row(1)).catch(() => {});
      await expect(spool.read(ALL)).rejects.toMatchObject({ code: 'SPOOL_FAILING' });
      fails = 'no';
      await spool.read(ALL);
      expect(spool.outstanding).toBe(1);
      await spool.remove([1, 2]);
      expect(spool.outstanding).toBe(0);
    }
    await spool.close();
  });
});

/** The work of a spool's thread, done at once. */
const inThisThread =
  (openFile: (options: ThreadOptions & { readonly nextId: number }) => OpenFile) =>
  ({ options, onEvent }: WorkerDeps<SpoolState>) => {
    let answered: Promise<SpoolAnswer> = Promise.resolve({});
    const work = new SpoolWork({
      options: options.workerData as ThreadOptions,
      openFile,
      port: {
        answer([one], { events = [] } = {}) {
          for (const event of events) onEvent(event);
          answered =
            one && 'result' in one
              ? Promise.resolve(one.result)
              : Promise.reject(toError(one?.fault ?? { code: 'INTERNAL', detail: '' }));
        },
        close() {},
      },
    });
    const call = (request: SpoolRequest) => {
      work.execute([{ n: 1, request }]);
      return answered;
    };
    return {
      isEnded: false,
      call,
      async close(request: SpoolRequest) {
        await call(request);
      },
      async terminate() {},
    };
  };
