import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { CHART } from '../../support/generated/chart-readme.ts';
import { ROOT } from '../../support/source-tree.ts';

export type Container = {
  name: string;
  args: string[];
  env?: { name: string; value: string }[];
  envFrom?: object[];
  resources: { requests?: object; limits?: { memory?: string } };
  securityContext: object;
  volumeMounts?: { name: string; mountPath: string }[];
  ports?: { name: string; containerPort: number }[];
  readinessProbe?: object;
  livenessProbe?: object;
};
export type Volume = {
  name: string;
  secret?: { secretName: string };
  configMap?: { name: string };
  downwardAPI?: { items: object[] };
  projected?: { sources: object[] };
  persistentVolumeClaim?: { claimName: string };
};
export type PodSpec = {
  containers: Container[];
  volumes?: Volume[];
  serviceAccountName?: string;
  securityContext: object;
  automountServiceAccountToken?: boolean;
  terminationGracePeriodSeconds?: number;
  topologySpreadConstraints?: { topologyKey: string }[];
  affinity?: object;
};
export type Manifest = {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
  data?: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own, and a test looks into many of them.
  spec: any;
};

/** The chart's values files, each a kind of installation that the chart has to serve. */
export const VALUES = ['minimal', 'full', 'spool', 'oauth', 'tokens', 'gitops', 'files'] as const;
export const valuesFile = (name: string): string => join(ROOT, CHART, 'ci', `${name}-values.yaml`);

/** As a cluster with the Prometheus operator would have it. */
const CLUSTER = ['--kube-version', '1.33.0', '--api-versions', 'monitoring.coreos.com/v1'];

/** What `helm template` makes of the chart, or its complaint. */
export const helmTemplate = (helm: string, ...args: string[]) => helmTemplateOf('pay', helm, ...args);

/** The same, of a release of another name. */
export async function helmTemplateOf(
  release: string,
  helm: string,
  ...args: string[]
): Promise<{ out: string; error: string }> {
  const all = ['template', release, join(ROOT, CHART), '--namespace', 'payments', ...CLUSTER, ...args];
  const maxBuffer = 64 * 1024 * 1024;
  const run = promisify(execFile)(helm, all, { maxBuffer });
  return run.then(
    ({ stdout }) => ({ out: stdout, error: '' }),
    ({ stderr }) => ({ out: '', error: String(stderr) }),
  );
}

export async function render(helm: string, values: string, ...sets: string[]): Promise<Manifest[]> {
  const { out, error } = await helmTemplate(helm, '-f', valuesFile(values), ...sets);
  if (error) throw new Error(error);
  const manifests = parseAllDocuments(out, { schema: 'yaml-1.1' }).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJSON();
  });
  return manifests.filter(Boolean);
}

type OwnedPod = { owner: Manifest; pod: PodSpec; metadata: Partial<Manifest['metadata']> };

/** The pod of each manifest that has one; of a ConfigMap with a Job for others to create, that Job's. */
export function podsOf(manifests: readonly Manifest[]): OwnedPod[] {
  return manifests.flatMap((owner) => {
    const job = owner.data?.['job.json'];
    if (job) return podsOf([JSON.parse(job)]);
    const spec = owner.kind === 'CronJob' ? owner.spec.jobTemplate.spec : owner.spec;
    const { spec: pod, metadata } = owner.kind === 'Pod' ? owner : (spec?.template ?? {});
    return pod ? [{ owner, pod, metadata }] : [];
  });
}

/** The variables of a workload's container, by name. */
export function environmentOf(manifests: readonly Manifest[], workload: string): Record<string, string> {
  const found = podsOf(manifests).find(({ owner }) => owner.metadata.name === workload);
  if (!found) throw new Error(`no pod of ${workload}`);
  const variables = found.pod.containers[0]?.env ?? [];
  return Object.fromEntries(variables.map(({ name, value }) => [name, value]));
}

export const find = (manifests: readonly Manifest[], kind: string, name?: string): Manifest => {
  const found = manifests.find(
    (one) => one.kind === kind && (name === undefined || one.metadata.name === name),
  );
  if (!found) throw new Error(`no ${kind} ${name ?? ''} among ${manifests.map((one) => one.kind)}`);
  return found;
};

export const COMPONENT = 'app.kubernetes.io/component';

/** The NetworkPolicy of a component. */
export const policyOf = (manifests: readonly Manifest[], component: string): Manifest =>
  find(manifests, 'NetworkPolicy', `pay-hookline-${component}`);
