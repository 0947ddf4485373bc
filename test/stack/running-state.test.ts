import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isOurs } from './process-identity.ts';
import {
  findRunning,
  type RunningState,
  readRunning,
  removeRunning,
  whyStale,
  writeRunning,
} from './running-state.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'running-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const stateWith = (pids: number[]): RunningState => ({
  how: 'jvm',
  brokers: ['127.0.0.1:1'],
  registryUrl: 'http://127.0.0.1:1',
  traces: { runDir: join(dir, 'run-x'), pids },
  startedAt: '2026-01-01T00:00:00.000Z',
});

const sleeper = (...args: string[]) => spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)', ...args]);
const exitOf = (child: ReturnType<typeof spawn>) => new Promise((resolve) => child.once('exit', resolve));

it('reads what it wrote, and takes a missing or a broken file for none', () => {
  expect(readRunning(dir)).toBeNull();
  writeRunning(dir, stateWith([1]));
  expect(readRunning(dir)).toEqual(stateWith([1]));
  writeFileSync(join(dir, 'running.json'), '{"how":');
  expect(readRunning(dir)).toBeNull();
});

it('takes a process that has ended for gone', async () => {
  const child = sleeper(join(dir, 'run-x'));
  const state = stateWith([child.pid!]);
  expect(isOurs(child.pid!, join(dir, 'run-x'))).toBe(true);
  child.kill('SIGKILL');
  await exitOf(child);
  expect(await whyStale(state)).toBe(`process ${child.pid} is gone`);
});

it('neither trusts nor ends a stranger that has got the number since', async () => {
  const stranger = sleeper();
  const state = stateWith([stranger.pid!]);
  writeRunning(dir, state);
  expect(await findRunning(dir)).toBeNull();
  await removeRunning(dir, state);
  expect(readRunning(dir)).toBeNull();
  expect(isOurs(stranger.pid!, process.execPath)).toBe(true);
  stranger.kill('SIGKILL');
});

it('takes processes that run but do not answer for stale, and ends them with their folder', async () => {
  const mute = sleeper(join(dir, 'run-x'));
  mkdirSync(join(dir, 'run-x'));
  const state = stateWith([mute.pid!]);
  expect(await whyStale(state)).toContain('127.0.0.1:1');
  await removeRunning(dir, state);
  expect(isOurs(mute.pid!, dir)).toBe(false);
  expect(() => rmSync(join(dir, 'run-x'))).toThrow('ENOENT');
});
