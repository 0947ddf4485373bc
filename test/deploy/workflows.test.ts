import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readFile } from '../support/generated/files.ts';

type Step = { uses?: string; run?: string };
type Job = {
  permissions: Record<string, string>;
  steps: Step[];
  'timeout-minutes'?: number;
  environment?: string;
};
type Workflow = { on: Record<string, unknown>; permissions: unknown; jobs: Record<string, Job> };

const FOLDER = '.github/workflows';
const workflows = readdirSync(FOLDER).map(
  (name) => [name, parse(readFile(`${FOLDER}/${name}`)) as Workflow] as const,
);

describe.each(workflows)('the workflow %s', (_, { on, permissions, jobs }) => {
  const all = Object.values(jobs);

  it('has no rights but those that a job names', () => {
    expect(permissions).toEqual({});
    expect(all.filter((job) => job.permissions === undefined)).toEqual([]);
  });

  it('runs code of nobody else, unless it is named by a commit', () => {
    const used = all.flatMap(({ steps }) => steps.flatMap(({ uses }) => uses ?? []));
    expect(used.filter((name) => !/^[\w./-]+@[0-9a-f]{40}$/.test(name))).toEqual([]);
  });

  it('has a deadline for each job', () => {
    expect(
      all.map((job) => job['timeout-minutes'] ?? 0).every((minutes) => minutes > 0 && minutes <= 90),
    ).toBe(true);
  });

  it('gives strangers neither secrets nor a right to write', () => {
    expect(Object.keys(on)).not.toContain('pull_request_target');
    if (!Object.keys(on).includes('pull_request')) return;
    expect(JSON.stringify(jobs)).not.toContain('secrets.');
    expect(all.flatMap((job) => Object.values(job.permissions)).filter((right) => right !== 'read')).toEqual(
      [],
    );
  });
});

it('a release is signed only where the environment allows it, and published after it is verified', () => {
  const { jobs } = workflows.find(([name]) => name === 'release.yaml')?.[1] ?? expect.fail('no release.yaml');
  for (const job of Object.values(jobs))
    if (JSON.stringify(job).includes('secrets.')) expect(job.environment).toBe('release');
  const runs = Object.values(jobs).flatMap(({ steps }) => steps.map(({ run = '' }) => run));
  const at = (text: string) => runs.findIndex((run) => run.includes(text));
  const order = ['make release', 'make verify-release', 'skopeo copy', 'gh release create'].map(at);
  expect(order).toEqual(order.toSorted((a, b) => a - b));
  expect(order[0]).toBeGreaterThan(at('ARG NODE_IMAGE='));
});
