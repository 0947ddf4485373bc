import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { ROOT } from '../source-tree.ts';
import { goTool, PROMETHEUS, PROMTOOL } from './go-tool.ts';

declare module 'vitest' {
  interface ProvidedContext {
    prometheus: string;
    promtool: string;
  }
}

/** Prometheus itself, for tests that have alerts fire. */
export default async function setup(project: TestProject): Promise<void> {
  const build = {
    env: process.env,
    dir: join(ROOT, '.local/tools'),
    signal: new AbortController().signal,
    onProgress: (line: string) => console.log(`tools: ${line}`),
  };
  project.provide('promtool', await goTool(PROMTOOL, build));
  project.provide('prometheus', await goTool(PROMETHEUS, build));
}
