import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Command } from 'commander';
import { CONFIG_EXIT_CODE } from '../config/env.ts';
import type { ExitCode, Run, Shell } from './shell/shell.ts';

export function addConsoleCommand(program: Command, shell: Shell, run: Run): void {
  program
    .command('console')
    .description('serves the console, which shows in a browser what the commands show (docs/console.md)')
    .action(run(() => serveConsole(shell)));
}

const CONSOLE = join(import.meta.dirname, '../console/main.ts');

/** Runs the console as a process of its own until it ends, or this one is told to. */
async function serveConsole(shell: Shell): Promise<ExitCode> {
  const ended = Promise.withResolvers<number | null>();
  // In a process group of its own: the terminal's Ctrl-C would reach it beside our signal, and a second signal ends it at once.
  const child = spawn(process.execPath, ['--disable-warning=TimeoutNegativeWarning', CONSOLE], {
    env: { ...shell.source.env },
    stdio: 'inherit',
    detached: true,
  });
  child.once('error', ended.reject);
  child.once('exit', (code) => ended.resolve(code));
  const stop = () => child.kill('SIGTERM');
  shell.signal.addEventListener('abort', stop, { once: true });
  if (shell.signal.aborted) stop();
  const code = await ended.promise;
  return code === 0 ? 0 : code === CONFIG_EXIT_CODE ? 2 : 1;
}
