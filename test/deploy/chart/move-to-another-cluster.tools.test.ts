import { expect, inject, it } from 'vitest';
import { readDocument, sectionOf } from '../../support/documents.ts';
import { render, VALUES } from './render.ts';

const helm = inject('helm');
const [, block = ''] =
  /( +helm upgrade [\s\S]*?)```/.exec(sectionOf(readDocument('docs/another-cluster.md'), '## Move')) ?? [];
const stop = [...block.matchAll(/--set (\S+)/g)].flatMap(([, value = '']) => ['--set', value]);

it.each(VALUES)(
  'what docs/another-cluster.md sets leaves no pod of %s that reads or writes',
  async (values) => {
    const manifests = await render(helm, values, ...stop);
    const isHook = ({ metadata }: (typeof manifests)[number]) =>
      metadata.annotations?.['helm.sh/hook']?.startsWith('pre-') ||
      metadata.annotations?.['helm.sh/hook'] === 'test';
    const running = manifests.filter(
      (one) =>
        (['CronJob', 'HorizontalPodAutoscaler', 'Job'].includes(one.kind) && !isHook(one)) ||
        (['Deployment', 'StatefulSet'].includes(one.kind) && one.spec.replicas !== 0),
    );
    expect(running.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
    expect(manifests.some(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')).toBe(true);
  },
);
