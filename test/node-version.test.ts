import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ROOT } from './support/source-tree.ts';

const packageJson = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** As in a shell of its own: without the folder that `npm test` puts first, and what npm hands on to its scripts. */
function ownShell(): NodeJS.ProcessEnv {
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  const { HOME } = process.env;
  return {
    HOME,
    PATH: path.join(delimiter),
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
  };
}

describe('Node', () => {
  // The package brings it by a preinstall script, which newer npm runs only where allowScripts covers it.
  it('under npm is the one that package.json names, whatever the machine has', async () => {
    const options = { cwd: ROOT, env: ownShell() };
    const { stdout } = await promisify(execFile)('npm', ['exec', '--', 'node', '--version'], options);
    expect(stdout.trim()).toBe(`v${packageJson.devDependencies.node}`);
    expect(stdout).toMatch(/^v24\./);
  });

  it('is brought by a script that npm is allowed to run', () => {
    expect(packageJson.allowScripts.node).toBe(true);
  });
});
