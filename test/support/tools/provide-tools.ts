import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { ROOT } from '../source-tree.ts';
import { type GoTool, goTool } from './go-tool.ts';

declare module 'vitest' {
  interface ProvidedContext {
    helm: string;
    prometheus: string;
    promtool: string;
  }
}

type ToolName = 'helm' | 'prometheus' | 'promtool';

/** Builds tools where they are not on the PATH, for tests that `inject` where they are. */
export async function provideTools(
  project: TestProject,
  tools: Partial<Record<ToolName, GoTool>>,
): Promise<void> {
  const build = {
    env: process.env,
    dir: join(ROOT, '.local/tools'),
    signal: new AbortController().signal,
    onProgress: (line: string) => console.log(`tools: ${line}`),
  };
  // One after the other: each build takes all the processors that there are.
  for (const [name, tool] of Object.entries(tools)) {
    project.provide(name as ToolName, await goTool(tool, build));
  }
}
