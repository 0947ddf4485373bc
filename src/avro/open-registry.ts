import { readFileSync } from 'node:fs';
import type { EnvReader, ValuesOf } from '../config/env.ts';
import { checkPlaintextUrl } from '../config/plaintext-credentials.ts';
import {
  certificatesIn,
  type NamedFile,
  passwordIn,
  type RenewalObserver,
  renewedFrom,
} from '../config/renewed-files.ts';
import { createRegistry, type Registry } from './registry.ts';
import type { registrySettings } from './settings.ts';

type RegistrySettings = ValuesOf<typeof registrySettings>;

const TIMEOUT_MS = 10_000;

/**
 * The registry that the settings name. Its client is made anew when the password's or the authority's file changes.
 * @throws HooklineError CREDENTIALS_INVALID where one of them can't be used
 */
export function openRegistry(settings: RegistrySettings, observer: RenewalObserver): Registry {
  const { url, username, passwordFile, caFile } = settings;
  const password = named('SCHEMA_REGISTRY_PASSWORD_FILE', passwordFile);
  const ca = named('SCHEMA_REGISTRY_CA_FILE', caFile);
  const current = renewedFrom({
    files: [...password, ...ca],
    read: (path) => readFileSync(path),
    observer,
    make(contents) {
      const passwords = password.map((file, n) => passwordIn(contents[n] as Buffer, file));
      const authorities = ca.map((file, n) => certificatesIn(contents[password.length + n] as Buffer, file));
      return createRegistry({
        url,
        timeoutMs: TIMEOUT_MS,
        ...(username !== undefined &&
          passwords[0] !== undefined && {
            auth: { username, password: passwords[0] },
          }),
        ...(authorities.length > 0 && { ca: authorities }),
      });
    },
  });
  return {
    idOf: (subject, schema) => current().idOf(subject, schema),
    writerType: (id) => current().writerType(id),
    isCompatible: (subject, schema) => current().isCompatible(subject, schema),
    register: (subject, schema) => current().register(subject, schema),
    subjects: () => current().subjects(),
  };
}

const named = (variable: string, path: string | undefined): NamedFile[] =>
  path === undefined ? [] : [{ variable, path }];

/** What only several variables together show. */
export function checkRegistrySettings(settings: RegistrySettings, reader: EnvReader): void {
  const { url, username, passwordFile, caFile } = settings;
  if ((username === undefined) !== (passwordFile === undefined)) {
    reader.fault('SCHEMA_REGISTRY_USERNAME and SCHEMA_REGISTRY_PASSWORD_FILE go together: set both or none.');
  }
  if (caFile !== undefined && url?.startsWith('http:')) {
    reader.fault('SCHEMA_REGISTRY_CA_FILE needs an https address in SCHEMA_REGISTRY_URL.');
  }
  if (username !== undefined) {
    const credential = 'the password of SCHEMA_REGISTRY_USERNAME';
    checkPlaintextUrl(settings, { variable: 'SCHEMA_REGISTRY_URL', url, credential }, reader);
  }
}
