import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { onPath } from '../../stack/on-path.ts';
import { StackError } from '../../stack/stack-error.ts';
import { ROOT } from '../../support/source-tree.ts';
import { goTool, HELM } from '../../support/tools/go-tool.ts';
import { hostAddress } from './host-address.ts';
import { kubectlJson } from './kubectl.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The node's InternalIP, and this machine's address as pods reach it. */
    nodeAddress: string;
    hostAddress: string;
    image: string;
    sandboxImage: string;
  }
}

type Nodes = { items: { status: { addresses: { type: string; address: string }[] } }[] };

/** What the cluster of KUBECONFIG is, for tests that `inject` it. */
export default async function setup(project: TestProject): Promise<void> {
  const { env } = process;
  if (!env.KUBECONFIG)
    throw new StackError('KUBECONFIG is not set: name the cluster that may be used, such as one of kind.');
  if (onPath('kubectl', env) === null) throw new StackError('kubectl is not on the PATH.');
  const { items } = await kubectlJson<Nodes>('get', 'nodes');
  const [{ address = '' } = {}] = (items[0]?.status.addresses ?? []).filter(
    ({ type }) => type === 'InternalIP',
  );
  project.provide('nodeAddress', address);
  project.provide('hostAddress', env.HOST_ADDRESS ?? (await hostAddress(address)));
  project.provide('image', env.HOOKLINE_IMAGE ?? 'hookline:test');
  project.provide('sandboxImage', env.HOOKLINE_SANDBOX_IMAGE ?? 'hookline-sandbox:test');
  const dir = join(ROOT, '.local/tools');
  const onProgress = (line: string) => console.log(`tools: ${line}`);
  project.provide('helm', await goTool(HELM, { env, dir, signal: new AbortController().signal, onProgress }));
}
