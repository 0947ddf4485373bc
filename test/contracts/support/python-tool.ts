import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { underLock } from '../../stack/lock.ts';
import { lastLines } from '../../stack/log-tail.ts';
import { onPath } from '../../stack/on-path.ts';
import type { Env } from '../../stack/stack.ts';
import { StackError } from '../../stack/stack-error.ts';

/** A program that its project publishes as a Python package. */
export type PythonTool = {
  readonly program: string;
  /** In words, with the size of what is downloaded. */
  readonly what: string;
  /** A file for `pip install -r`, which gives the version of everything. */
  readonly requirements: string;
  /** Versions of Python that all of them have, the newest first. */
  readonly pythons: readonly string[];
};

/** Minutes on a slow line. */
const INSTALL_MS = 15 * 60_000;

export type Install = { env: Env; dir: string; signal: AbortSignal; onProgress: (line: string) => void };

/** Where the program is, in a virtual environment of its own, installed unless it is there. */
export async function pythonTool(tool: PythonTool, install: Install): Promise<string> {
  const { dir, onProgress, signal } = install;
  const hash = createHash('sha256').update(readFileSync(tool.requirements)).digest('hex').slice(0, 12);
  const folder = join(dir, `${tool.program}-${hash}`);
  const program = join(folder, 'bin', tool.program);
  // A virtual environment cannot be moved: what tells a finished one is a file that is written last.
  const finished = join(folder, 'finished');
  if (existsSync(finished)) return program;
  const onWait = () => onProgress('waiting for another process that installs it');
  await underLock(join(dir, 'python.lock'), { deadlineMs: INSTALL_MS, signal, onWait }, async () => {
    if (existsSync(finished)) return;
    const python = await findPython(tool, install);
    onProgress(`installing ${tool.what} with pip, once`);
    rmSync(folder, { recursive: true, force: true });
    await run(tool, install, python, ['-m', 'venv', folder]);
    const args = ['--quiet', '--disable-pip-version-check', '--no-deps', '-r', tool.requirements];
    await run(tool, install, join(folder, 'bin/python'), ['-m', 'pip', 'install', ...args]);
    writeFileSync(finished, '');
  });
  return program;
}

async function run({ what }: PythonTool, { env, signal }: Install, command: string, args: readonly string[]) {
  try {
    await promisify(execFile)(command, args, { env, signal, timeout: INSTALL_MS });
  } catch (error) {
    signal.throwIfAborted();
    const { stdout = '', stderr = String(error) } = error as { stdout?: string; stderr?: string };
    throw new StackError(`pip cannot install ${what}:\n${lastLines(stdout + stderr)}`);
  }
}

/** A program on the PATH may be of another version than its name says, or only a stub: each is asked. */
async function findPython({ what, pythons }: PythonTool, { env }: Install): Promise<string> {
  for (const name of ['python3', ...pythons.map((version) => `python${version}`)]) {
    const program = onPath(name, env);
    if (program === null) continue;
    const asked = promisify(execFile)(
      program,
      ['-c', 'import sys, venv, ensurepip; print("%d.%d" % sys.version_info[:2])'],
      {
        env,
        timeout: 10_000,
      },
    );
    const version = await asked.then(({ stdout }) => stdout.trim()).catch(() => '');
    if (pythons.includes(version)) return program;
  }
  throw new StackError(
    `${what} needs Python ${pythons.join(', ')} with venv on the PATH (Debian: python3-venv).`,
  );
}
