import { envReader } from '../../config/env.ts';
import { type Route, routesOf } from '../../config/proxy.ts';
import { providerSettings } from '../../provider/settings.ts';
import { ProxyFault } from '../../runtime/connection-fault.ts';
import { openTunnel } from '../../runtime/tunnel.ts';
import { CLI_SETTINGS, loadConfig } from '../shell/connections.ts';
import { type Check, type Finding, fault, ok, skipped } from '../shell/finding.ts';

const CONNECT_MS = 5_000;

/** Whether the proxy gives a connection to each https address that is reached through it. Nothing is sent there. */
export const checkProxy: Check = async (shell) => {
  const config = loadConfig(shell, 'kafka', 'registry', 'bodyStore');
  if (!config.kafka.proxy) return [skipped('proxy', 'HTTPS_PROXY is not set: every connection is direct')];
  const reader = envReader(shell.source);
  const provider = shell.source.env.PROVIDER_AUTH_URL ? reader.read(providerSettings) : undefined;
  // What is wrong with these variables is a finding of checkProvider.
  const groups = { ...CLI_SETTINGS, ...(provider && { provider: providerSettings }) };
  const routes = routesOf(groups, { ...config, provider });
  const through = routes.filter(({ proxy }) => proxy);
  const direct = routes.filter(({ proxy }) => !proxy).map(({ variable }) => variable);
  if (through.length === 0)
    return [ok('proxy', 'HTTPS_PROXY is not used: no https address is reached through it')];
  const findings = await Promise.all(through.map(checkRoute));
  return direct.length > 0 ? [...findings, ok('proxy', `not used for ${direct.join(', ')}`)] : findings;
};

async function checkRoute({ variable, host, port, proxy }: Route): Promise<Finding> {
  // At AWS each bucket has a host of its own, and a proxy may allow that one alone: checkBodyStore asks for it.
  if (variable === 'BODY_STORE') return ok('proxy', `${proxy?.origin} is on the way to BODY_STORE`);
  try {
    const socket = await openTunnel(proxy!, { host, port }, AbortSignal.timeout(CONNECT_MS));
    socket.destroy();
    return ok('proxy', `${proxy?.origin} connects with ${host}:${port} (${variable})`);
  } catch (error) {
    if (!(error instanceof ProxyFault)) throw error;
    return fault('proxy', `${variable}: ${error.finding}`, error.remedy);
  }
}
