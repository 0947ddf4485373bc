/**
 * The process between whoever starts a stack and its JVMs: `node supervisor.ts RUN_DIR`, orders by IPC.
 * A JVM doesn't notice when its starter is killed; this process does, since the system then closes the channel.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Order, Program, Report } from './supervise.ts';

/** How long `down` lets Kafka close its files. A run that is discarded anyway gets no grace. */
const GRACE_MS = 10_000;

const [runDir = ''] = process.argv.slice(2);
const children = new Map<number, ChildProcess>();
let isLeft = false;
let ending: Promise<void> | undefined;

process.on('message', (order: Order) => {
  if (order.do === 'run') run(order.id, order);
  else report({ id: order.id });
  if (order.do === 'leave') isLeft = true;
  if (order.do === 'end') end(0);
});
process.on('disconnect', () => isLeft || end(0));
process.on('SIGTERM', () => end(GRACE_MS));
process.on('SIGINT', () => end(GRACE_MS));
process.on('uncaughtException', (error) => {
  console.error(error);
  end(0);
});

function run(id: number, { command, args, logFile }: Program): void {
  if (ending) {
    report({ id, fault: 'The stack is being stopped.' });
    return;
  }
  const log = openSync(logFile, 'a');
  const child = spawn(command, args, { cwd: runDir, stdio: ['ignore', log, log] });
  closeSync(log);
  child.once('error', (error) => report({ id, fault: error.message }));
  const { pid } = child;
  if (pid === undefined) return;
  children.set(pid, child);
  child.once('exit', (code, signal) => {
    children.delete(pid);
    report({ exited: pid, code, signal });
  });
  report({ id, pid });
}

function end(graceMs: number): void {
  ending ??= endAll(graceMs).finally(() => process.exit());
}

async function endAll(graceMs: number): Promise<void> {
  const gone = Promise.all([...children.values()].map((child) => once(child, 'exit')));
  if (graceMs > 0) {
    for (const child of children.values()) child.kill('SIGTERM');
    await Promise.race([gone, sleep(graceMs)]);
  }
  for (const child of children.values()) child.kill('SIGKILL');
  await gone;
  await rm(runDir, { recursive: true, force: true, maxRetries: 5 });
}

/** The callback takes the error of a channel whose other end has just gone: `disconnect` deals with that. */
function report(message: Report): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}
