import { readFileSync } from 'node:fs';
import type { ValuesOf } from '../core/env.ts';
import { createRegistry, type Registry } from './registry.ts';
import type { registrySettings } from './settings.ts';

const TIMEOUT_MS = 10_000;

/** The registry that the settings name. */
export function openRegistry(settings: ValuesOf<typeof registrySettings>): Registry {
  const { url, username, passwordFile } = settings;
  const auth =
    username !== undefined && passwordFile !== undefined
      ? { username, password: readFileSync(passwordFile, 'utf8').trim() }
      : undefined;
  return createRegistry({ url, timeoutMs: TIMEOUT_MS, ...(auth && { auth }) });
}
