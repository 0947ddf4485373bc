import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { ROOT } from '../source-tree.ts';
import { goTool, HELM, PROMTOOL } from './go-tool.ts';

declare module 'vitest' {
  interface ProvidedContext {
    helm: string;
    promtool: string;
  }
}

/** The tools that judge what is in deploy/, for tests that `inject` them. */
export default async function setup(project: TestProject): Promise<void> {
  const build = {
    env: process.env,
    dir: join(ROOT, '.local/tools'),
    signal: new AbortController().signal,
    onProgress: (line: string) => console.log(`tools: ${line}`),
  };
  // One after the other: each build takes all the processors that there are.
  project.provide('helm', await goTool(HELM, build));
  project.provide('promtool', await goTool(PROMTOOL, build));
}
