import { readFileSync } from 'node:fs';
import { type EnvReader, optional, path, text, url, type ValuesOf } from '../config/env.ts';
import { checkPlaintextUrl, plaintextSettings } from '../config/plaintext-credentials.ts';
import {
  certificatesIn,
  type NamedFile,
  passwordIn,
  type RenewalObserver,
  renewedFrom,
} from '../config/renewed-files.ts';
import { createRegistry, type Registry } from './registry.ts';

type RegistrySettings = ValuesOf<typeof registrySettings>;

const TIMEOUT_MS = 10_000;

/**
 * The registry that the settings name. Its client is made again when the password's or the authority's file changes.
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
    incompatibleVersions: (subject, schema) => current().incompatibleVersions(subject, schema),
    register: (subject, schema) => current().register(subject, schema),
    moveOver: (subject, schema) => current().moveOver(subject, schema),
    versions: (subject) => current().versions(subject),
    compatibility: (subject) => current().compatibility(subject),
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

/** Where the schemas are: files here, ids and the schemas of others at the registry. */
export const schemaSettings = {
  dir: optional(
    path('SCHEMAS_DIR', {
      about:
        'directory with events/*.avsc and commands/*.avsc; unset means the schemas that are part of Hookline',
    }),
  ),
};

export const registrySettings = {
  url: url('SCHEMA_REGISTRY_URL', { about: "address of the schema registry's Confluent API" }),
  username: optional(
    text('SCHEMA_REGISTRY_USERNAME', { about: 'user for basic authentication at the registry' }),
  ),
  passwordFile: optional(path('SCHEMA_REGISTRY_PASSWORD_FILE', { about: "file with that user's password" })),
  caFile: optional(
    path('SCHEMA_REGISTRY_CA_FILE', { about: "PEM file with the registry's certificate authority" }),
  ),
  ...plaintextSettings,
};
