import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { until } from '../support/until.ts';
import { wayToApiServer } from './support/api-server.ts';
import { apply, kubectl } from './support/kubectl.ts';
import { moveVolume, volumeThatCanBeGone } from './support/objects.ts';
import { Release } from './support/release.ts';

const SET = 'statefulset/pay-hookline-ingress';
const POD = 'pay-hookline-ingress-0';
const JOB = 'pay-hookline-drain-0';
/** From the return of the volume, or of the last thing that was missing, to an empty spool. */
const DRAINED_MS = 60_000;

const image = inject('image');
let release: Release;
let volume: string;
let way: AsyncDisposable;

beforeAll(async () => {
  release = await Release.make({
    image,
    sandboxImage: inject('sandboxImage'),
    helm: inject('helm'),
    nodeAddress: inject('nodeAddress'),
    hostAddress: inject('hostAddress'),
  });
  way = await wayToApiServer(inject('hostAddress'));
  volume = `${release.namespace}-gone`;
  await apply(...volumeThatCanBeGone(volume, image));
  await succeeded(volume);
  await release.install({
    ingress: {
      replicas: 1,
      service: { type: 'NodePort' },
      spool: {
        enabled: true,
        size: '1Gi',
        maxBytes: 900_000_000,
        storageClass: volume,
        drain: { schedule: '* * * * *' },
      },
    },
  });
});

afterAll(async () => {
  await release?.[Symbol.asyncDispose]();
  await way?.[Symbol.asyncDispose]();
  if (!volume) return;
  const pods = [volume, ...['away', 'back'].map((to) => `${volume}-${to}`)].map((name) => `pod/${name}`);
  const rest = ['--wait=false', '--ignore-not-found', '-n', 'default'];
  await kubectl('delete', ...rest, ...pods, `pv/${volume}`);
});

const succeeded = (pod: string) =>
  kubectl(
    ...['wait', '-n', 'default', `pod/${pod}`],
    '--for=jsonpath={.status.phase}=Succeeded',
    '--timeout=60s',
  );

async function move(to: 'away' | 'back'): Promise<void> {
  await kubectl('delete', '-n', 'default', '--ignore-not-found', `pod/${volume}-${to}`);
  await apply(moveVolume(volume, image, to));
  await succeeded(`${volume}-${to}`);
}

/** A metric of the pod, as its monitoring reads it. */
async function metric(name: string): Promise<number> {
  const path = `/api/v1/namespaces/${release.namespace}/pods/${POD}:9464/proxy/metrics`;
  const text = await kubectl('get', '--raw', path).catch(() => '');
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.split(' ')[1] ?? Number.NaN);
}

const scale = async (replicas: number) => {
  await release.kubectl('scale', SET, `--replicas=${replicas}`);
  if (replicas === 0) await release.kubectl('wait', `pod/${POD}`, '--for=delete', '--timeout=90s');
};

/** Kafka is unavailable, the pod takes events, and then is gone with its volume. */
async function leaveEventsBehind(): Promise<void> {
  await release.stack.kafka?.nodes[0]?.kill('SIGKILL');
  const spooled = async () => (await metric('hookline_spool_deliveries')) > 100;
  await until('events go to the spool', spooled, 60_000);
  await scale(0);
  await move('away');
  await release.stack.kafka?.nodes[0]?.start();
  await release.stack.kafka?.waitReady();
}

const jobIs = async (condition: string) =>
  (await release.kubectl('get', `job/${JOB}`, '-o', 'json').catch(() => '')).includes(condition);

describe('the spool of a pod that is gone with its volume', () => {
  it('is drained by the next pod of the StatefulSet when the volume is back, nothing lost, in order', async () => {
    let seconds = 0;
    const verdict = await release.underLoad(async () => {
      await leaveEventsBehind();
      await scale(1);
      const begin = Date.now();
      await move('back');
      const drained = async () =>
        (await metric('hookline_spool_deliveries')) === 0 && (await metric('hookline_spool_in_use')) === 0;
      await until('the spool is drained', drained, 120_000);
      seconds = (Date.now() - begin) / 1_000;
    });
    expect(verdict).toMatchObject({ lost: 0, orderViolations: 0, altered: 0, wronglyStored: 0 });
    expect(verdict.spooled).toBeGreaterThan(100);
    console.log(
      `next pod: ${verdict.acked} acked, ${verdict.spooled} from the spool, drained after ${seconds} s`,
    );
    expect(seconds * 1_000).toBeLessThan(DRAINED_MS);
  });

  it('is drained by a job if no pod is to come back, nothing lost, in order; a pod takes the volume back later', async () => {
    let seconds = 0;
    const verdict = await release.underLoad(async () => {
      await leaveEventsBehind();
      await until('a job has the claim', () => jobIs('"hookline/claim"'), 150_000);
      const begin = Date.now();
      await move('back');
      await until('the job is done', () => jobIs('"type": "Complete"'), 120_000);
      seconds = (Date.now() - begin) / 1_000;
      expect(await release.kubectl('logs', `job/${JOB}`)).toMatch(/\d+ deliveries drained, none left/);
      await scale(1);
      await release.kubectl('wait', `pod/${POD}`, '--for=condition=Ready', '--timeout=120s');
      expect(await metric('hookline_spool_deliveries')).toBe(0);
      await until('the job is forgotten', async () => !(await jobIs('"hookline/claim"')), 150_000);
    });
    expect(verdict).toMatchObject({ lost: 0, orderViolations: 0, altered: 0, wronglyStored: 0 });
    expect(verdict.spooled).toBeGreaterThan(100);
    console.log(`job: ${verdict.acked} acked, ${verdict.spooled} from the spool, drained after ${seconds} s`);
    expect(seconds * 1_000).toBeLessThan(DRAINED_MS);
  });

  it('hookline verify runs as a CronJob, and says that it is well', async () => {
    const keys = {
      'subscription-id': '2d9c2f0a-7b57-4a0e-9a53-3f1f0a6f4f10',
      'signing-secret': 'x'.repeat(36),
    };
    const metadata = { namespace: release.namespace, name: 'probe' };
    await apply({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: keys });
    await release.install({
      ingress: {
        replicas: 1,
        service: { type: 'NodePort' },
        spool: { enabled: true, size: '1Gi', maxBytes: 900_000_000, storageClass: volume },
      },
      verify: { enabled: true, secret: 'probe' },
    });
    await release.kubectl('create', 'job', 'verify-now', '--from=cronjob/pay-hookline-verify');
    await release.kubectl('wait', 'job/verify-now', '--for=condition=Complete', '--timeout=120s');
    const said = await release.kubectl('logs', 'job/verify-now');
    expect(said).toMatch(/^record +ok +payments\.probe\[\d\]@\d+ after/m);
    expect(said).toMatch(/^counters +ok +/m);
    expect(said).toContain('Verdict: well.');
  });
});
