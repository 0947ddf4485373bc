import { expect, inject, it } from 'vitest';
import { render, VALUES } from '../deploy/chart/render.ts';
import { runProgram } from './support/kubectl.ts';

/** Of what a cluster may have or not: these are rendered where it has them. */
const OPTIONAL = ['monitoring.coreos.com/', 'gateway.networking.k8s.io/'];

it.each(VALUES)(
  'the cluster takes what the chart makes of %s values, and knows each field of it',
  async (values) => {
    const manifests = await render(inject('helm'), values);
    const items = manifests.filter(
      ({ apiVersion }) => !OPTIONAL.some((group) => apiVersion.startsWith(group)),
    );
    const args = ['create', '-n', 'default', '--dry-run=server', '--validate=strict', '-f', '-'];
    const taken = await runProgram(
      'kubectl',
      args,
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    );
    expect(taken.match(/created \(server dry run\)/g)).toHaveLength(items.length);
  },
);
