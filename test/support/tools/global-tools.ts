import type { TestProject } from 'vitest/node';
import { HELM, KUBECTL_VALIDATE, PROMTOOL } from './go-tool.ts';
import { kubernetesSchemas } from './kubernetes-schemas.ts';
import { buildOf, provideTools } from './provide-tools.ts';

/** The tools that judge what is in deploy/. */
export default async (project: TestProject) => {
  await provideTools(project, { helm: HELM, promtool: PROMTOOL, kubectlValidate: KUBECTL_VALIDATE });
  project.provide('kubernetesSchemas', await kubernetesSchemas(buildOf(process.env)));
};
