import { readFileSync } from 'node:fs';
import { passwordIn, renewedFrom } from '../config/renewed-files.ts';
import { named, namedFiles, presentIn, tlsMaterial } from '../runtime/tls-files.ts';
import { openTokens, type TokenDeps } from '../tokens/open-tokens.ts';
import type { TokenSource } from '../tokens/token-source.ts';
import { createRegistry, type Registry } from './registry.ts';
import type { RegistrySettings } from './registry-settings.ts';

const TIMEOUT_MS = 10_000;

/** A registry, and the access tokens that are shown to it, where it is reached by tokens. */
export type OpenRegistry = Registry & { readonly tokens: TokenSource | undefined };

/**
 * The registry that the settings name. Its client is made again when a file of its connection or the password changes.
 * @throws HooklineError CREDENTIALS_INVALID where one of them can't be used
 */
export function openRegistry(settings: RegistrySettings, deps: TokenDeps): OpenRegistry {
  const { url, username, passwordFile, caFile, certFile, keyFile } = settings;
  const tls = {
    ca: named('SCHEMA_REGISTRY_CA_FILE', caFile),
    cert: named('SCHEMA_REGISTRY_CERT_FILE', certFile),
    key: named('SCHEMA_REGISTRY_KEY_FILE', keyFile),
  };
  const tlsFiles = namedFiles(tls);
  const password = named('SCHEMA_REGISTRY_PASSWORD_FILE', passwordFile);
  const from = {
    use: 'registry' as const,
    prefix: 'SCHEMA_REGISTRY_OAUTH',
    fileVariable: 'SCHEMA_REGISTRY_TOKEN_FILE',
    file: settings.tokenFile,
  };
  const tokens = openTokens(settings, from, deps);
  const opened = renewedFrom({
    files: [...tlsFiles, ...(password ? [password] : [])],
    read: (path) => readFileSync(path),
    observer: deps.files,
    make(contents) {
      const secret = password && passwordIn(contents.at(-1) as Buffer, password);
      const material = tlsFiles.length > 0 ? tlsMaterial(tls, contents) : undefined;
      const registry = createRegistry({
        url,
        timeoutMs: TIMEOUT_MS,
        proxy: settings,
        headers: Object.fromEntries(settings.headers),
        ...(tokens && { tokens }),
        ...(username !== undefined && secret !== undefined && { auth: { username, password: secret } }),
        ...(material && { secureContext: material.context }),
      });
      return { registry, validity: material?.validity };
    },
  });
  presentIn(deps.files, tls, opened);
  const current = () => opened().registry;
  return {
    tokens,
    idOf: (subject, schema) => current().idOf(subject, schema),
    writerType: (id) => current().writerType(id),
    incompatibleVersions: (subject, schema) => current().incompatibleVersions(subject, schema),
    register: (subject, schema) => current().register(subject, schema),
    moveOver: (subject, schema, options) => current().moveOver(subject, schema, options),
    versions: (subject) => current().versions(subject),
    compatibility: (subject) => current().compatibility(subject),
    subjects: () => current().subjects(),
    time: () => current().time(),
  };
}
