import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';
import { ROOT } from '../support/source-tree.ts';

const SHORT = '--rounds 1 --seconds 1 --connections 8 --form sealed --system naive,hookline';

it('measures what is stored, in a run as short as wanted', async () => {
  const env = {
    ...process.env,
    KAFKA_BROKERS: inject('brokers').join(','),
    SCHEMA_REGISTRY_URL: inject('registryUrl'),
  };
  const args = [join(ROOT, 'test/bench/main.ts'), ...SHORT.split(' ')];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  const file = /all figures: (.*)$/m.exec(stdout)?.[1] ?? expect.fail(stdout);
  const { series } = JSON.parse(readFileSync(file, 'utf8'));
  expect(series.map(({ system }: { system: string }) => system)).toEqual(['naive', 'hookline']);
  for (const { rounds } of series) {
    expect(rounds[0].stored).toBeGreaterThanOrEqual(rounds[0].answered);
    expect(rounds[0].answered).toBeGreaterThan(8);
    expect(rounds[0].cpuMicros).toBeGreaterThan(1);
  }
}, 120_000);
