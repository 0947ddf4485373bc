import { readFileSync } from 'node:fs';
import { Agent } from 'node:https';
import type { EnvReader, ValuesOf } from '../core/env.ts';
import { createRegistry, type Registry } from './registry.ts';
import type { registrySettings } from './settings.ts';

type RegistrySettings = ValuesOf<typeof registrySettings>;

const TIMEOUT_MS = 10_000;

/** The registry that the settings name. */
export function openRegistry({ url, username, passwordFile, caFile }: RegistrySettings): Registry {
  const password = passwordFile === undefined ? undefined : readFileSync(passwordFile, 'utf8').trim();
  return createRegistry({
    url,
    timeoutMs: TIMEOUT_MS,
    ...(username !== undefined && password !== undefined && { auth: { username, password } }),
    ...(caFile !== undefined && { agent: new Agent({ ca: readFileSync(caFile), keepAlive: true }) }),
  });
}

/** What only several variables together show. */
export function checkRegistrySettings(
  { url, username, passwordFile, caFile }: RegistrySettings,
  reader: EnvReader,
): void {
  if ((username === undefined) !== (passwordFile === undefined)) {
    reader.fault('SCHEMA_REGISTRY_USERNAME and SCHEMA_REGISTRY_PASSWORD_FILE go together: set both or none.');
  }
  if (caFile !== undefined && url?.startsWith('http:')) {
    reader.fault('SCHEMA_REGISTRY_CA_FILE needs an https address in SCHEMA_REGISTRY_URL.');
  }
}
