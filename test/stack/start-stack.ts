import { resolve } from 'node:path';
import { chooseWay, type Findings } from './choose-way.ts';
import { NoImageError } from './docker-engine.ts';
import { startDockerStack } from './docker-stack.ts';
import type { Jdk } from './find-jdk.ts';
import { findWays } from './find-ways.ts';
import { startJvmStack } from './jvm-stack.ts';
import { useNamedStack } from './named-stack.ts';
import type { Stack, StackOptions, StartInput } from './stack.ts';

/** Git-ignored: what Maven brought, and the state of what `make up` started. */
export const LOCAL_DIR = resolve(import.meta.dirname, '../../.local/stack');

/**
 * A real Kafka and a real schema registry: what the environment names, else in Docker, else as plain JVM programs.
 * What it starts ends with this process, however that ends, unless `keep` is set. Throws a StackError that says what
 * is missing or, with the end of its log, what didn't start.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const input: StartInput = {
    nodes: 1,
    withRegistry: true,
    keep: false,
    ...options,
    dir: resolve(options.dir ?? LOCAL_DIR),
    onProgress: options.onProgress ?? (() => {}),
    signal: options.signal ?? new AbortController().signal,
  };
  const begin = performance.now();
  const { findings, jdk } = await findWays(options, LOCAL_DIR);
  const stack = await startFirst(input, findings, jdk);
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  input.onProgress(`ready after ${seconds} s: ${stack.brokers.join(',')} ${stack.registryUrl}`);
  return stack;
}

async function startFirst(input: StartInput, findings: Findings, jdk: Jdk | null): Promise<Stack> {
  const way = chooseWay(findings);
  if (way === 'environment') return useNamedStack(input);
  if (way === 'jvm') return startJvmStack({ ...input, jdk: jdk!, partsDir: LOCAL_DIR });
  try {
    return await startDockerStack(input);
  } catch (error) {
    if (!(error instanceof NoImageError)) throw error;
    if (findings.wanted === undefined) input.onProgress(`no Docker: ${error.message}`);
    return startFirst(input, { ...findings, docker: { open: false, missing: error.message } }, jdk);
  }
}
