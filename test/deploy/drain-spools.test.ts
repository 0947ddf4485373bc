import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { CHART } from '../support/generated/chart-readme.ts';
import { serve } from '../support/serve.ts';
import { ROOT } from '../support/source-tree.ts';

const SET = 'pay-hookline-ingress';
const dir = mkdtempSync(join(tmpdir(), 'hookline-drain-'));
afterAll(() => rmSync(dir, { recursive: true }));
writeFileSync(join(dir, 'token'), 'the-token\n');
const jobOf = (claim: string, ordinal: string) => ({
  metadata: { name: `drain-${ordinal}`, annotations: { 'hookline/claim': claim } as Record<string, string> },
  status: {} as { succeeded?: number; completionTime?: string; conditions?: object[] },
});
writeFileSync(join(dir, 'job.json'), JSON.stringify({ metadata: jobOf('{claim}', '{ordinal}').metadata }));

type Job = ReturnType<typeof jobOf>;

/** A namespace as the API server has it. */
class Namespace {
  /** null: the StatefulSet was deleted. */
  replicas: number | null = 2;
  generation = 1;
  /** Of the CronJob. */
  cronGeneration = 1;
  /** Whether a deleted job is gone; else it is still there. */
  isGone = (_job: string) => true;
  claims = ['spool-pay-hookline-ingress-0', 'spool-pay-hookline-ingress-1', 'data-kafka-9'];
  /** By pod, its claim. */
  readonly pods = new Map<string, { claim: string; phase: string; isDrain?: boolean }>();
  readonly jobs = new Map<string, Job>();
  readonly did: string[] = [];
  readonly #deleted = new Set<string>();

  handle(method: string, path: string, body: string): object | null {
    const last = path.split('/').at(-1)?.split('?')[0] ?? '';
    const items = (all: object[]) => ({ items: all });
    if (path.includes('/statefulsets/'))
      return this.replicas === null
        ? null
        : { metadata: { uid: 'u', generation: this.generation }, spec: { replicas: this.replicas } };
    if (path.includes('/cronjobs/'))
      return { metadata: { name: last, uid: 'cron-uid', generation: this.cronGeneration } };
    if (last === 'persistentvolumeclaims') return items(this.claims.map((name) => ({ metadata: { name } })));
    if (last === 'pods')
      return items(
        [...this.pods].map(([name, { claim, phase, isDrain }]) => ({
          metadata: { name, ...(isDrain && { annotations: { 'hookline/claim': claim } }) },
          spec: { volumes: [{ persistentVolumeClaim: { claimName: claim } }] },
          status: { phase },
        })),
      );
    if (method === 'POST') {
      const job: Job = { ...JSON.parse(body), status: {} };
      if (this.jobs.has(job.metadata.name)) throw new Error('409');
      this.jobs.set(job.metadata.name, job);
      this.did.push(`create ${job.metadata.name} for ${job.metadata.annotations['hookline/claim']}`);
      return job;
    }
    if (method === 'DELETE') {
      this.did.push(`delete ${last}`);
      if (!this.jobs.has(last)) return null;
      this.#deleted.add(last);
      return {};
    }
    for (const job of this.#deleted) {
      if (!this.isGone(job)) continue;
      this.jobs.delete(job);
      this.#deleted.delete(job);
    }
    return last === 'jobs' ? items([...this.jobs.values()]) : (this.jobs.get(last) ?? null);
  }

  /** Runs the script once, and gives what it did. */
  async run() {
    this.did.length = 0;
    await using server = await serve(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const isKnown = request.headers.authorization === 'Bearer the-token';
      try {
        const answer = isKnown ? this.handle(request.method ?? '', request.url ?? '', body) : null;
        response.writeHead(answer === null ? 404 : 200).end(JSON.stringify(answer ?? {}));
      } catch (error) {
        response.writeHead(409).end(String(error));
      }
    });
    const env = {
      PATH: process.env.PATH,
      KUBERNETES_API: server.url,
      NAMESPACE: 'payments',
      STATEFUL_SET: SET,
      CRON_JOB: 'cron',
      SELECTOR: 'a=b',
      JOB_TEMPLATE: join(dir, 'job.json'),
      TOKEN_FILE: join(dir, 'token'),
    };
    const file = join(ROOT, CHART, 'files/drain-spools.mjs');
    const { exitCode, output } = await new Promise<{ exitCode: number; output: string }>((resolve) => {
      const child = execFile(process.execPath, [file], { env }, (_, out, err) =>
        resolve({ exitCode: child.exitCode ?? -1, output: out + err }),
      );
    });
    return { exitCode, output, did: [...this.did] };
  }
}

const CLAIM_1 = 'spool-pay-hookline-ingress-1';

describe('the script that gives spools to jobs', () => {
  it('does nothing while every claim has its pod, or will have it back', async () => {
    const cluster = new Namespace();
    cluster.pods.set('ingress-0', { claim: 'spool-pay-hookline-ingress-0', phase: 'Running' });
    expect(await cluster.run()).toMatchObject({ exitCode: 0, did: [] });
  });

  it('after a scale-down drains the spool of the pod that is gone, and of no other; once', async () => {
    const cluster = new Namespace();
    cluster.replicas = 1;
    expect(await cluster.run()).toMatchObject({ exitCode: 0, did: [`create drain-1 for ${CLAIM_1}`] });
    const [job] = [...cluster.jobs.values()] as (Job & { metadata: { ownerReferences: object[] } })[];
    expect(job?.metadata.ownerReferences).toMatchObject([{ kind: 'CronJob', uid: 'cron-uid' }]);
    expect((await cluster.run()).did).toEqual([]);
    job!.status.succeeded = 1;
    expect((await cluster.run()).did).toEqual([]);
  });

  it('leaves a claim alone that a pod still uses, whatever pod it is', async () => {
    const cluster = new Namespace();
    cluster.replicas = 1;
    cluster.pods.set('debug', { claim: CLAIM_1, phase: 'Running' });
    const { did, output } = await cluster.run();
    expect(did).toEqual([]);
    expect(output).toContain(`${CLAIM_1}: still used by pod debug`);
    cluster.pods.set('debug', { claim: CLAIM_1, phase: 'Succeeded' });
    expect((await cluster.run()).did).toEqual([`create drain-1 for ${CLAIM_1}`]);
    // Its own pod is no reason to stop.
    cluster.pods.set('drain-1-x', { claim: CLAIM_1, phase: 'Running', isDrain: true });
    expect((await cluster.run()).did).toEqual([]);
  });

  it('gives a claim back to the pod that is wanted again', async () => {
    const cluster = new Namespace();
    cluster.replicas = 1;
    await cluster.run();
    Object.assign(cluster, { replicas: 2, generation: 2 });
    expect((await cluster.run()).did).toEqual(['delete drain-1']);
  });

  it('drains once more what a pod may have used since, between two runs', async () => {
    const cluster = new Namespace();
    cluster.replicas = 1;
    await cluster.run();
    cluster.jobs.get('drain-1')!.status.succeeded = 1;
    // Scaled up and down again.
    cluster.generation = 3;
    expect((await cluster.run()).did).toEqual(['delete drain-1', `create drain-1 for ${CLAIM_1}`]);
  });

  it('drains once more what a StatefulSet may have used that came and went between two runs', async () => {
    const cluster = new Namespace();
    cluster.claims = [CLAIM_1];
    cluster.replicas = null;
    await cluster.run();
    const again = ['delete drain-1', `create drain-1 for ${CLAIM_1}`];
    const finish = (minutesAgo: number) => {
      const completionTime = new Date(Date.now() - minutesAgo * 60_000).toISOString();
      cluster.jobs.get('drain-1')!.status = { succeeded: 1, completionTime };
    };
    finish(1);
    expect((await cluster.run()).did).toEqual([]);
    // The spool was enabled and disabled again: the CronJob was changed twice.
    cluster.cronGeneration += 2;
    expect((await cluster.run()).did).toEqual(again);
    finish(59);
    expect((await cluster.run()).did).toEqual([]);
    // Nothing shows a StatefulSet that somebody makes without the chart.
    finish(61);
    expect((await cluster.run()).did).toEqual(again);
    // A job that drains is left to it, however long that takes.
    expect((await cluster.run()).did).toEqual([]);
  });

  it('keeps the job of a claim that no pod can have used since: the StatefulSet is the same', async () => {
    const cluster = new Namespace();
    cluster.replicas = 1;
    await cluster.run();
    cluster.jobs.get('drain-1')!.status = { succeeded: 1, completionTime: '2026-01-01T00:00:00Z' };
    expect((await cluster.run()).did).toEqual([]);
  });

  it('does not wait with one claim for the job of another, which takes long to go', async () => {
    const cluster = new Namespace();
    cluster.claims = ['spool-pay-hookline-ingress-0', CLAIM_1];
    cluster.replicas = null;
    await cluster.run();
    cluster.jobs.delete('drain-1');
    cluster.cronGeneration++;
    cluster.isGone = () => cluster.jobs.has('drain-1');
    expect(await cluster.run()).toMatchObject({
      exitCode: 0,
      did: [
        'delete drain-0',
        `create drain-1 for ${CLAIM_1}`,
        'create drain-0 for spool-pay-hookline-ingress-0',
      ],
    });
  }, 60_000);

  it('drains all spools where the StatefulSet is gone, and touches no other claims', async () => {
    const cluster = new Namespace();
    cluster.replicas = null;
    expect((await cluster.run()).did.toSorted()).toEqual([
      'create drain-0 for spool-pay-hookline-ingress-0',
      `create drain-1 for ${CLAIM_1}`,
    ]);
  });

  it('makes another job where one has failed, and says so by its exit code', async () => {
    const cluster = new Namespace();
    cluster.replicas = 1;
    await cluster.run();
    cluster.jobs.get('drain-1')!.status.conditions = [{ type: 'Failed', status: 'True', reason: 'Evicted' }];
    const { exitCode, output, did } = await cluster.run();
    expect({ exitCode, did }).toEqual({
      exitCode: 1,
      did: ['delete drain-1', `create drain-1 for ${CLAIM_1}`],
    });
    expect(output).toContain('job drain-1 failed (Evicted)');
  });

  it('forgets the job of a claim that an operator has deleted', async () => {
    const cluster = new Namespace();
    cluster.replicas = 1;
    await cluster.run();
    cluster.claims = cluster.claims.filter((name) => name !== CLAIM_1);
    expect((await cluster.run()).did).toEqual(['delete drain-1']);
  });

  it('one claim that cannot be given away does not stop the others', async () => {
    const cluster = new Namespace();
    cluster.replicas = null;
    const foreign = jobOf('elsewhere', '0');
    cluster.jobs.set('drain-0', { ...foreign, metadata: { ...foreign.metadata, annotations: {} } });
    const { exitCode, did, output } = await cluster.run();
    expect({ exitCode, did }).toEqual({ exitCode: 1, did: [`create drain-1 for ${CLAIM_1}`] });
    expect(output).toContain('409');
  });
});
