import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { render, VALUES } from '../deploy/chart/render.ts';
import { apply, kubectl, runProgram } from './support/kubectl.ts';
import { restrictedNamespace } from './support/objects.ts';

/** Of what a cluster may have or not: these are rendered where it has them. */
const OPTIONAL = ['monitoring.coreos.com/', 'gateway.networking.k8s.io/'];

const namespace = `hookline-${randomBytes(4).toString('hex')}`;
beforeAll(() => apply(restrictedNamespace(namespace)));
afterAll(() => kubectl('delete', 'namespace', namespace, '--wait=false'));

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
    const args = ['create', '-n', namespace, '--dry-run=server', '--validate=strict', '-f', '-'];
    const list = { apiVersion: 'v1', kind: 'List', items: others };
    const taken = await runProgram('kubectl', args, JSON.stringify(list));
    expect(taken.match(/created \(server dry run\)/g)).toHaveLength(others.length);
  },
);
