import type { TestProject } from 'vitest/node';
import { HELM, PROMTOOL } from './go-tool.ts';
import { provideTools } from './provide-tools.ts';

/** The tools that judge what is in deploy/. */
export default (project: TestProject) => provideTools(project, { helm: HELM, promtool: PROMTOOL });
