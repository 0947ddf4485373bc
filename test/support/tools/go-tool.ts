import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { underLock } from '../../stack/lock.ts';
import { onPath } from '../../stack/on-path.ts';
import type { Env } from '../../stack/stack.ts';
import { StackError } from '../../stack/stack-error.ts';
import { ROOT } from '../source-tree.ts';

/** A program that its project publishes as a Go module. */
export type GoTool = {
  readonly name: string;
  /** The package of its main function. */
  readonly package: string;
  readonly version: string;
  /** A main function of ours, which takes parts of that package's module. */
  readonly main?: string;
  /** Where another version would make something else: one on the PATH is not taken. */
  readonly isExact?: boolean;
};

export const HELM: GoTool = { name: 'helm', package: 'helm.sh/helm/v3/cmd/helm', version: 'v3.22.0' };
export const PROMTOOL: GoTool = {
  name: 'promtool',
  package: 'github.com/prometheus/prometheus/cmd/promtool',
  version: 'v0.308.0',
};

/** Holds manifests against the OpenAPI schemas of Kubernetes, as an API server does, without one. */
export const KUBECTL_VALIDATE: GoTool = {
  name: 'kubectl-validate',
  package: 'sigs.k8s.io/kubectl-validate',
  version: 'v0.0.4',
};

/** The same release: what one of them checks the other runs. */
export const PROMETHEUS: GoTool = {
  name: 'prometheus',
  package: 'github.com/prometheus/prometheus/cmd/prometheus',
  version: PROMTOOL.version,
};

/** Checks workflows of GitHub Actions. */
export const ACTIONLINT: GoTool = {
  name: 'actionlint',
  package: 'github.com/rhysd/actionlint/cmd/actionlint',
  version: 'v1.7.12',
};

/** Sends requests at a steady rate. */
export const VEGETA: GoTool = {
  name: 'vegeta',
  package: 'github.com/tsenart/vegeta/v12',
  version: 'v12.12.0',
};

/** What many have who bring webhooks to Kafka: measured beside Hookline. */
export const REDPANDA_CONNECT: GoTool = {
  name: 'redpanda-connect-receiver',
  package: 'github.com/redpanda-data/connect/v4',
  version: 'v4.105.0',
  main: join(ROOT, 'test/bench/peers/redpanda/main.go'),
};

/** On a slow machine: promtool brings the clients of a dozen clouds along. */
const BUILD_MS = 20 * 60_000;

export type Build = { env: Env; dir: string; signal: AbortSignal; onProgress: (line: string) => void };

/** Where the program is: the one on the PATH, else one that Go has built, once, into the folder. */
export async function goTool(tool: GoTool, build: Build): Promise<string> {
  const there = tool.isExact ? null : onPath(tool.name, build.env);
  if (there !== null) return there;
  const file = join(build.dir, `${tool.name}-${tool.version}`);
  if (existsSync(file)) return file;
  if (onPath('go', build.env) === null)
    throw new StackError(
      `${tool.name} is needed, and is not on the PATH. Install it, or Go, by which it is built here.`,
    );
  const { onProgress, signal } = build;
  const onWait = () => onProgress('waiting for another process that builds');
  await underLock(join(build.dir, 'build.lock'), { deadlineMs: BUILD_MS, signal, onWait }, async () => {
    if (existsSync(file)) return;
    onProgress(`building ${tool.name} ${tool.version} with Go, once; minutes`);
    await runGo(tool, build, file);
  });
  return file;
}

/** In a module of its own: `go install` refuses a module that excludes versions, as Prometheus' does. */
async function runGo(tool: GoTool, { env, dir, signal }: Build, file: string): Promise<void> {
  const cwd = join(dir, `${tool.name}-module`);
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, 'go.mod'), `module ${tool.name}-module\n\ngo 1.24\n`);
  const go = (...args: string[]) =>
    promisify(execFile)('go', args, { cwd, signal, timeout: BUILD_MS, env: { ...env, GOFLAGS: '-mod=mod' } });
  try {
    if (tool.main === undefined) await go('get', '-tool', `${tool.package}@${tool.version}`);
    else {
      copyFileSync(tool.main, join(cwd, 'main.go'));
      await go('get', `${tool.package}@${tool.version}`);
      await go('mod', 'tidy');
    }
    const what = tool.main === undefined ? tool.package : '.';
    await go('build', '-trimpath', '-ldflags=-s -w', '-o', `${file}.unfinished`, what);
  } catch (error) {
    signal.throwIfAborted();
    const { stderr = String(error) } = error as { stderr?: string };
    throw new StackError(
      `Go can't build ${tool.name}:\n${stderr.trimEnd().split('\n').slice(-15).join('\n')}`,
    );
  }
  renameSync(`${file}.unfinished`, file);
}
