import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { ROOT } from '../../support/source-tree.ts';
import { find, helmTemplate, render, VALUES, valuesFile } from './render.ts';

const { versions, definitions } = inject('kubernetesSchemas');
const dir = mkdtempSync(join(tmpdir(), 'hookline-manifests-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** The least that Chart.yaml allows; kubectl-validate has its schemas built in. */
const OLDEST = '1.29';
const newest = versions.map(({ version, dir: schemas }) => ({
  version,
  // What is not among the schemas is looked for in the newest version that is built in.
  flags: ['--version', '1.30', '--local-schemas', schemas],
}));
const all = [{ version: OLDEST, flags: ['--version', OLDEST] }, ...newest];

/** What is wrong in some manifests, each fault on a line; empty if nothing. */
function faultsOf(manifests: string, flags: readonly string[]): Promise<string> {
  const file = join(dir, `${randomUUID()}.yaml`);
  writeFileSync(file, manifests);
  const args = [...flags, '--local-crds', definitions, file];
  // It would ask the cluster of a kubeconfig first.
  const env = { ...process.env, KUBECONFIG: join(dir, 'none') };
  return new Promise((resolve, reject) => {
    execFile(inject('kubectlValidate'), args, { env, timeout: 60_000 }, (error, stdout, stderr) => {
      if (!error) resolve('');
      else if (stderr === '') reject(new Error(stdout, { cause: error }));
      else resolve(stderr);
    });
  });
}

const EXAMPLES = join(ROOT, 'deploy/examples/kubernetes');
const FILES: [name: string, flags: string[]][] = [
  ...VALUES.map((name): [string, string[]] => [`ci/${name}-values.yaml`, ['-f', valuesFile(name)]]),
  ...readdirSync(EXAMPLES).map((name): [string, string[]] => [
    `deploy/examples/kubernetes/${name}`,
    ['-f', valuesFile('minimal'), '-f', join(EXAMPLES, name)],
  ]),
];

describe.each(all)('Kubernetes $version', ({ version, flags }) => {
  it.each(FILES)('takes what the chart makes of %s', async (_, values) => {
    const { out, error } = await helmTemplate(
      inject('helm'),
      ...values,
      ...['--kube-version', `${version}.0`],
    );
    expect(error).toBe('');
    expect(await faultsOf(out, flags)).toBe('');
  });

  it('takes the Job that drains a spool, which is made from a ConfigMap', async () => {
    const config = find(await render(inject('helm'), 'spool'), 'ConfigMap', 'pay-hookline-spool-drain');
    const job = config.data?.['job.json']?.replaceAll('{ordinal}', '2').replaceAll('{claim}', 'spool-2');
    expect(JSON.parse(job ?? '').kind).toBe('Job');
    expect(await faultsOf(job ?? '', flags)).toBe('');
  });

  it.each([
    ['a field that there is not', 'apps/v1', 'Deployment', { replica: 1 }, /spec\.replica/],
    ['a value of another type', 'apps/v1', 'Deployment', { replicas: 'two' }, /replicas/],
    ['a version that there is no longer', 'autoscaling/v2beta2', 'HorizontalPodAutoscaler', {}, /v2beta2/],
    [
      'a route that the Gateway API does not know',
      'gateway.networking.k8s.io/v1',
      'HTTPRoute',
      { rules: [{ matches: [{ method: 'POSTED' }] }] },
      /spec\.rules\[0\]\.matches\[0\]\.method/,
    ],
    [
      'a route without a slash, by the rules of its definition',
      'gateway.networking.k8s.io/v1',
      'HTTPRoute',
      { rules: [{ matches: [{ path: { type: 'PathPrefix', value: 'webhooks' } }] }] },
      /must be an absolute path/,
    ],
  ])('refuses %s', async (_, apiVersion, kind, spec, named) => {
    const manifest = { apiVersion, kind, metadata: { name: 'wrong' }, spec };
    expect(await faultsOf(JSON.stringify(manifest), flags)).toMatch(named);
  });
});

it('each version is judged by its own schemas', async () => {
  // Resources of a whole pod are newer than 1.29.
  const spec = { containers: [{ name: 'one', image: 'one' }], resources: { requests: { cpu: '1' } } };
  const pod = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'one' }, spec });
  const taken = all.map(async ({ version, flags }) => [version, (await faultsOf(pod, flags)) === '']);
  expect(Object.fromEntries(await Promise.all(taken))).toEqual({
    [OLDEST]: false,
    ...Object.fromEntries(newest.map(({ version }) => [version, true])),
  });
});
