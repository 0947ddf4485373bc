import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../support/source-tree.ts';
import { until } from '../../support/until.ts';

it.each([
  ['ledger', 'LEDGER_FILE', 'ledger.sqlite'],
  ['analytics', 'ANALYTICS_FILE', 'analytics.duckdb'],
])(
  'the %s example with an empty %s keeps what it books in %s, and not where it is lost with the process',
  async (example, variable, file) => {
    const cwd = mkdtempSync(join(tmpdir(), 'hookline-example-'));
    const env = { PATH: process.env.PATH, KAFKA_BROKERS: '127.0.0.1:9', [variable]: '' };
    const main = join(ROOT, 'deploy/examples', example, 'main.ts');
    const running = spawn(process.execPath, [main], { cwd, env, stdio: 'ignore' });
    try {
      const isOver = () => running.exitCode !== null;
      await until('it has its file', () => existsSync(join(cwd, file)) || isOver(), 30_000);
      expect(existsSync(join(cwd, file))).toBe(true);
    } finally {
      const ended = once(running, 'close');
      if (running.exitCode === null && running.kill('SIGKILL')) await ended;
      rmSync(cwd, { recursive: true });
    }
  },
  40_000,
);
