import { lookup } from 'node:dns/promises';
import { Fault } from '../config/env.ts';

/** @throws Fault where it is no address of a process's ADMIN_PORT */
export function parseAdminAddress(value: string): URL {
  const parsed = URL.parse(value);
  const isBare = parsed?.pathname === '/' && parsed.search === '';
  if (parsed?.protocol !== 'http:' || parsed.username || parsed.password || !isBare)
    throw new Fault(`is ${JSON.stringify(value)}: give addresses such as http://127.0.0.1:9464.`);
  return parsed;
}

/**
 * The processes behind an address, as host:port: of a name with several addresses each one, as of a headless Service.
 * Rejects where the name cannot be looked up.
 */
export async function adminAddressesOf({ hostname, port }: URL): Promise<string[]> {
  // 127.0.0.1 and ::1 of it are one process, which may listen at one of the two: whoever connects tries both.
  if (hostname === 'localhost') return [`localhost:${port || '80'}`];
  const found = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true });
  const hosts = found.map(({ address, family }) => (family === 6 ? `[${address}]` : address));
  return hosts.map((host) => `${host}:${port || '80'}`).sort();
}
