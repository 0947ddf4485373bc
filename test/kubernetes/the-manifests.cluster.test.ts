import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type Manifest, render, VALUES } from '../deploy/chart/render.ts';
import { apply, kubectl, runProgram } from './support/kubectl.ts';
import { restrictedNamespace } from './support/objects.ts';

/** Of what a cluster may have or not: these are rendered where it has them. */
const OPTIONAL = ['monitoring.coreos.com/', 'gateway.networking.k8s.io/'];
const FAMILIES = ['IPv4', 'IPv6'];

const namespace = `hookline-${randomBytes(4).toString('hex')}`;
let families: string[];

beforeAll(async () => {
  await apply(restrictedNamespace(namespace));
  const isThere = await Promise.all(FAMILIES.map(hasFamily));
  families = FAMILIES.filter((_, index) => isThere[index]);
});
afterAll(() => kubectl('delete', 'namespace', namespace, '--wait=false'));

/** What the cluster says of objects that it is asked to take. */
function offer(...items: object[]): Promise<string> {
  const args = ['create', '-n', namespace, '--dry-run=server', '--validate=strict', '-f', '-'];
  return runProgram('kubectl', args, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
}

async function hasFamily(family: string): Promise<boolean> {
  const spec = { ipFamilies: [family], ports: [{ port: 80 }] };
  return offer({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'family' }, spec }).then(
    () => true,
    (error: Error) => !error.message.includes('not configured on this cluster') && Promise.reject(error),
  );
}

/** With those families of a Service that the cluster has: it refuses the others. */
function withFamilies(manifest: Manifest): object {
  const spec = manifest.spec as { ipFamilies?: string[] } | undefined;
  if (manifest.kind !== 'Service' || !spec?.ipFamilies) return manifest;
  return {
    ...manifest,
    spec: { ...spec, ipFamilies: spec.ipFamilies.filter((one) => families.includes(one)) },
  };
}

it.each(VALUES)(
  'the cluster takes what the chart makes of %s values, and knows each field of it',
  async (values) => {
    const manifests = await render(inject('helm'), values);
    const items = manifests.filter(
      ({ apiVersion }) => !OPTIONAL.some((group) => apiVersion.startsWith(group)),
    );
    // A pod is taken only if its service account is there.
    const accounts = items.filter(({ kind }) => kind === 'ServiceAccount');
    await apply(...accounts.map((one) => ({ ...one, metadata: { ...one.metadata, namespace } })));
    const others = items.filter((one) => !accounts.includes(one));
    const taken = await offer(...others.map(withFamilies));
    expect(taken.match(/created \(server dry run\)/g)).toHaveLength(others.length);
  },
);
