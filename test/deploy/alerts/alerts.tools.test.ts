import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, it } from 'vitest';
import { CHART } from '../../support/generated/chart-readme.ts';
import { ROOT } from '../../support/source-tree.ts';

const run = promisify(execFile);
const promtool = inject('promtool');
const rules = join(ROOT, CHART, 'files/alerts.yaml');
const files = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.test.yaml'));

describe('the alerts, by promtool', () => {
  it('are rules without a fault, and without one that is there twice', async () => {
    const { stdout } = await run(promtool, ['check', 'rules', '--lint=all', '--lint-fatal', rules]);
    expect(stdout).toContain('SUCCESS');
  });

  it.each(files)('fire and are silent as %s says', async (file) => {
    const test = run(promtool, ['test', 'rules', join(import.meta.dirname, file)]);
    const { stdout } = await test.catch(({ stdout, stderr }) => ({ stdout: `${stdout}${stderr}` }));
    expect(stdout).toMatch(/SUCCESS\s*$/);
  });

  it('are all in the configuration that compose gives to Prometheus, which is without a fault', async () => {
    const config = join(ROOT, 'deploy/compose/prometheus.yaml');
    const { stdout } = await run(promtool, ['check', 'config', '--syntax-only', config]);
    expect(stdout).toContain('SUCCESS');
  });
});
