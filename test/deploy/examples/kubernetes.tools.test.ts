import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { allMetrics } from '../../support/all-metrics.ts';
import { ROOT } from '../../support/source-tree.ts';
import { find, type Manifest, podsOf, render } from '../chart/render.ts';

const helm = inject('helm');
const metrics = new Set(
  allMetrics()
    .registry.getMetricsAsArray()
    .map(({ name }) => name),
);

const example = (name: string, ...flags: string[]) =>
  render(helm, 'minimal', '-f', join(ROOT, 'deploy/examples/kubernetes', `${name}-values.yaml`), ...flags);

describe.each([
  ['keda', 'ScaledObject'],
  ['hpa', 'HorizontalPodAutoscaler'],
])('the example %s', (name, kind) => {
  it('scales the Deployment of ingress, which names no number of pods', async () => {
    const manifests = await example(name);
    const { scaleTargetRef } = find(manifests, kind).spec;
    const { spec } = find(manifests, 'Deployment', scaleTargetRef.name);
    expect(spec.template.metadata.labels['app.kubernetes.io/component']).toBe('ingress');
    expect(spec).not.toHaveProperty('replicas');
    expect(manifests.filter((one) => one.spec?.scaleTargetRef !== undefined)).toHaveLength(1);
  });

  it('asks for metrics that there are', async () => {
    const asked = JSON.stringify(find(await example(name), kind).spec).match(/hookline_\w+/g) ?? [];
    expect(asked.filter((metric) => !metrics.has(metric))).toEqual([]);
    expect(asked.length).toBeGreaterThan(0);
  });
});

describe('the example vault-agent', () => {
  const AGENT = 'vault.hashicorp.com/agent-';

  /** What the injector's agent writes for a pod. */
  function filesOf(annotations: Readonly<Record<string, string>>): string[] {
    const names = Object.keys(annotations).filter((name) => name.startsWith(`${AGENT}inject-secret-`));
    return names.map((name) => {
      const of = name.slice(`${AGENT}inject-secret-`.length);
      expect(annotations, of).toHaveProperty([`${AGENT}inject-template-${of}`]);
      return `/vault/secrets/${annotations[`${AGENT}inject-file-${of}`] ?? of}`;
    });
  }

  it('has the agent write each file that a pod reads, with a token that is there, and mounts no Secret', async () => {
    const login =
      'console.userHeader=X-User,console.roles={payments=view},console.trustedProxies={10.0.0.0/8}';
    const all = 'console.enabled=true,verify.enabled=true,ingress.spool.enabled=true';
    const pods = podsOf(await example('vault-agent', '--set', `${all},${login}`));
    expect(pods.length).toBeGreaterThan(8);
    for (const { owner, pod, metadata } of pods) {
      const { annotations = {} } = metadata;
      const who = `${owner.kind} ${owner.metadata.name}`;
      const names = pod.volumes?.map(({ name }) => name);
      expect(names, who).toContain(annotations[`${AGENT}service-account-token-volume-name`]);
      expect(
        pod.volumes?.some(({ secret }) => secret),
        who,
      ).toBe(false);
      const files = filesOf(annotations);
      const read = pod.containers
        .flatMap(({ env = [] }) => env)
        .filter(({ value }) => value?.startsWith('/vault/'));
      for (const { name, value } of read)
        expect(
          files.some(
            (file) => file === value || (name === 'SECRETS_DIR' && file.startsWith(`${value}/ledger-eu/`)),
          ),
          `${who} ${name}`,
        ).toBe(true);
      const isJob = !/^(Deployment|StatefulSet)$/.test(owner.kind);
      expect(annotations[`${AGENT}pre-populate-only`], who).toBe(isJob ? 'true' : undefined);
    }
  });
});

describe('the example external-secrets', () => {
  type Entry = { secretKey: string };

  /** Each Secret that pods mount, with its keys. */
  const mountedOf = (manifests: readonly Manifest[]) =>
    podsOf(manifests)
      .flatMap(({ pod }) => pod.volumes ?? [])
      .flatMap(({ secret }) => (secret ? [secret as typeof secret & { items: { key: string }[] }] : []))
      .flatMap(({ secretName, items }) => items.map(({ key }) => `${secretName}/${key}`));

  it('makes every Secret that the pods mount, and no other', async () => {
    const manifests = await example('external-secrets');
    const made = manifests
      .filter(({ kind }) => kind === 'ExternalSecret')
      .flatMap(({ metadata, spec }) =>
        spec.data.map(({ secretKey }: Entry) => `${metadata.name}/${secretKey}`),
      );
    expect(made.toSorted()).toEqual([...new Set(mountedOf(manifests))].sort());
  });

  it('makes the one of the setup jobs before them, and keeps its Secret when the hook is made anew', async () => {
    const manifests = await example('external-secrets');
    const { metadata, spec } = find(manifests, 'ExternalSecret', 'hookline-kafka-setup');
    const weightOf = ({ annotations }: Manifest['metadata']) =>
      Number(annotations?.['helm.sh/hook-weight'] ?? Number.NaN);
    const jobs = manifests.filter(({ kind }) => kind === 'Job').map((job) => weightOf(job.metadata));
    expect(weightOf(metadata)).toBeLessThan(Math.min(...jobs));
    expect(spec.target.creationPolicy).toBe('Orphan');
  });
});
