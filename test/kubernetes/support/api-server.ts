import { forward } from './forward.ts';
import { apply, kubectl, kubectlJson } from './kubectl.ts';

type Endpoints = { subsets?: { addresses?: object[] }[] };

/**
 * A way from pods to the API server, where the cluster has none because its API server listens on the loopback of this machine
 * alone. Elsewhere nothing.
 * @param host this machine's address as pods reach it
 */
export async function wayToApiServer(host: string): Promise<AsyncDisposable> {
  const place = ['-n', 'default', 'endpoints', 'kubernetes'];
  const found = await kubectlJson<Endpoints>('get', ...place).catch((): Endpoints => ({}));
  if (found.subsets?.some(({ addresses = [] }) => addresses.length > 0))
    return { async [Symbol.asyncDispose]() {} };
  const server = await kubectl('config', 'view', '--minify', '-o', 'jsonpath={.clusters[0].cluster.server}');
  const way = await forward(host, Number(new URL(server).port));
  await apply({
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { namespace: 'default', name: 'kubernetes' },
    subsets: [{ addresses: [{ ip: host }], ports: [{ name: 'https', port: way.port, protocol: 'TCP' }] }],
  });
  return {
    async [Symbol.asyncDispose]() {
      await kubectl('delete', ...place);
      await way[Symbol.asyncDispose]();
    },
  };
}
