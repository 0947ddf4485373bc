import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { until } from '../support/until.ts';
import { apply, kubectl } from './support/kubectl.ts';
import { volumeObjects } from './support/objects.ts';
import { Release } from './support/release.ts';

const POD = 'pay-hookline-ingress-0';
let release: Release;
let volume: string;

beforeAll(async () => {
  const image = inject('image');
  const sandboxImage = inject('sandboxImage');
  release = await Release.make({
    image,
    sandboxImage,
    helm: inject('helm'),
    nodeAddress: inject('nodeAddress'),
    hostAddress: inject('hostAddress'),
  });
  volume = `${release.namespace}-spool`;
  await apply(...volumeObjects(volume, image));
  await kubectl(
    'wait',
    '-n',
    'default',
    `pod/${volume}`,
    '--for=jsonpath={.status.phase}=Succeeded',
    '--timeout=60s',
  );
});

afterAll(async () => {
  await release?.[Symbol.asyncDispose]();
  if (volume) await kubectl('delete', '--wait=false', '-n', 'default', `pod/${volume}`, `pv/${volume}`);
});

/** A metric of the pod, as its monitoring reads it. */
async function metric(name: string): Promise<number> {
  const path = `/api/v1/namespaces/${release.namespace}/pods/${POD}:9464/proxy/metrics`;
  const text = await kubectl('get', '--raw', path).catch(() => '');
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.split(' ')[1] ?? Number.NaN);
}

describe('on a cluster, with a spool on a volume', () => {
  it('what is acknowledged while Kafka is unavailable survives the pod, and its successor drains it in order', async () => {
    await release.install({
      ingress: {
        replicas: 1,
        service: { type: 'NodePort' },
        spool: { enabled: true, size: '1Gi', maxBytes: 900_000_000, storageClass: volume },
      },
    });
    const [node] = release.stack.kafka?.nodes ?? [];
    const verdict = await release.underLoad(async () => {
      await node?.kill('SIGKILL');
      await until(
        'events go to the spool',
        async () => (await metric('hookline_spool_deliveries')) > 100,
        60_000,
      );
      await release.kubectl('delete', 'pod', POD, '--force', '--grace-period=0');
      await release.kubectl('wait', `pod/${POD}`, '--for=condition=Ready', '--timeout=120s');
      const before = await metric('hookline_spool_deliveries');
      expect(before, 'the successor has what its predecessor acknowledged').toBeGreaterThan(100);
      await until(
        'it takes further ones',
        async () => (await metric('hookline_spool_deliveries')) > before,
        30_000,
      );
      await node?.start();
      await until(
        'the spool is drained',
        async () => (await metric('hookline_spool_deliveries')) === 0,
        120_000,
      );
      await until('Kafka is used again', async () => (await metric('hookline_spool_in_use')) === 0, 60_000);
    });
    expect(verdict).toMatchObject({ lost: 0, orderViolations: 0, altered: 0, wronglyStored: 0 });
    expect(verdict.spooled).toBeGreaterThan(100);
    console.log(`spool: ${verdict.acked} acked, ${verdict.spooled} of them from the spool, 0 lost`);
  });

  it('helm uninstall leaves the volume, as it says', async () => {
    const notes = await release.helm('get', 'notes', release.name);
    expect(notes).toContain('persistentvolumeclaims spool-pay-hookline-ingress-*');
    await release.helm('uninstall', release.name, '--wait');
    const claims = await release.kubectl('get', 'persistentvolumeclaims', '-o', 'name');
    expect(claims.trim()).toBe('persistentvolumeclaim/spool-pay-hookline-ingress-0');
  });
});
