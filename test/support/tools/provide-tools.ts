import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { ROOT } from '../source-tree.ts';
import { type Build, type GoTool, goTool } from './go-tool.ts';
import type { KubernetesSchemas } from './kubernetes-schemas.ts';

declare module 'vitest' {
  interface ProvidedContext {
    helm: string;
    kubectlValidate: string;
    kubernetesSchemas: KubernetesSchemas;
    prometheus: string;
    promtool: string;
  }
}

type ToolName = 'helm' | 'kubectlValidate' | 'prometheus' | 'promtool';

export const buildOf = (env: Build['env']): Build => ({
  env,
  dir: join(ROOT, '.local/tools'),
  signal: new AbortController().signal,
  onProgress: (line: string) => console.log(`tools: ${line}`),
});

/** Builds tools where they are not on the PATH, for tests that `inject` where they are. */
export async function provideTools(
  project: TestProject,
  tools: Partial<Record<ToolName, GoTool>>,
): Promise<void> {
  const build = buildOf(process.env);
  // One after the other: each build takes all the processors that there are.
  for (const [name, tool] of Object.entries(tools)) {
    project.provide(name as ToolName, await goTool(tool, build));
  }
}
