import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, type TestContext } from 'vitest';
import { isOurs } from './process-identity.ts';
import { startSupervisor } from './supervise.ts';
import { waitUntil } from './wait-until.ts';

/** `finished` is the test's own: of tests that run side by side, the imported one doesn't know which it belongs to. */
function newFolder(finished: TestContext['onTestFinished']): string {
  const folder = mkdtempSync(join(tmpdir(), 'supervised-'));
  finished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

it('reports how a program ended, with its output in the log, and why one cannot be started', async ({
  onTestFinished,
}) => {
  const runDir = newFolder(onTestFinished);
  const supervisor = await startSupervisor(runDir);
  const logFile = join(runDir, 'quick.log');
  const quick = await supervisor.run({ command: 'sh', args: ['-c', 'echo said; exit 3'], logFile });
  expect(await quick.exit).toEqual({ code: 3, signal: null });
  expect(quick.exited()).toEqual({ code: 3, signal: null });
  expect(readFileSync(logFile, 'utf8')).toBe('said\n');
  await expect(supervisor.run({ command: '/no/such/program', args: [], logFile })).rejects.toThrow('ENOENT');
  await supervisor.end();
});

it('ends its programs and removes their folder, and may be told so twice', async ({ onTestFinished }) => {
  const runDir = newFolder(onTestFinished);
  const supervisor = await startSupervisor(runDir);
  const args = ['-e', 'setInterval(() => {}, 1e6)', runDir];
  const program = await supervisor.run({ command: process.execPath, args, logFile: join(runDir, 'log') });
  expect(program.exited()).toBeNull();
  await Promise.all([supervisor.end(), supervisor.end()]);
  await supervisor.end();
  expect(isOurs(program.pid, runDir)).toBe(false);
  expect(existsSync(runDir)).toBe(false);
});

const SIGNALS = ['SIGKILL', 'SIGINT', 'SIGTERM'] as const;

it.for(SIGNALS)(
  'leaves no program and no folder behind when its starter gets a %s',
  async (signal, context) => {
    await expectNothingLeft('program', signal, newFolder(context.onTestFinished));
  },
);

/** Minutes where Maven has yet to download it. */
const timeout = 600_000;

describe('a real Kafka', () => {
  it.concurrent.for(['SIGKILL', 'SIGINT'] as const)(
    'leaves no JVM behind when its starter gets a %s',
    { timeout },
    async (signal, context) => {
      await expectNothingLeft('kafka', signal, newFolder(context.onTestFinished));
    },
  );
});

async function expectNothingLeft(what: string, signal: NodeJS.Signals, dir: string): Promise<void> {
  const starter = spawn(process.execPath, [join(import.meta.dirname, 'starter.fixture.ts'), what, dir]);
  const { runDir, pids } = await tracesOf(starter);
  expect(pids.filter((pid) => isOurs(pid, runDir))).toEqual(pids);
  starter.kill(signal);
  const left = async () => {
    if (existsSync(runDir)) return 'The folder is there.';
    return pids.every((pid) => !isOurs(pid, runDir)) || 'A process runs.';
  };
  await waitUntil('Something is left', left, { deadlineMs: 10_000, signal: new AbortController().signal });
}

async function tracesOf(starter: ChildProcess): Promise<{ runDir: string; pids: number[] }> {
  const errors: Buffer[] = [];
  starter.stderr?.on('data', (data) => errors.push(data));
  const ended = once(starter, 'exit').then(() => {
    throw new Error(`The starter has ended: ${Buffer.concat(errors)}`);
  });
  const [text] = await Promise.race([once(starter.stdout!, 'data'), ended]);
  ended.catch(() => {});
  return JSON.parse(String(text));
}
