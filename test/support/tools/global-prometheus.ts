import type { TestProject } from 'vitest/node';
import { PROMETHEUS, PROMTOOL } from './go-tool.ts';
import { provideTools } from './provide-tools.ts';

/** Prometheus itself, for tests that have alerts fire. */
export default (project: TestProject) =>
  provideTools(project, { promtool: PROMTOOL, prometheus: PROMETHEUS });
