import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ReleaseError } from './release-error.ts';
import { run } from './run.ts';

/** Signs with one key, into Sigstore bundles. Nothing is sent anywhere: no certificate, no transparency log. */
export type Signer = {
  signFile(file: string, bundle: string): Promise<void>;
  /** An in-toto statement, as an attestation (a DSSE envelope in the bundle). */
  signStatement(file: string, bundle: string): Promise<void>;
  /** In PEM. */
  readonly publicKey: string;
  readonly kind: 'given' | 'trial';
};

/** Verifies by one public key, without a network. Each gives null, or why it does not hold. */
export type Verifier = {
  fileFault(file: string, bundle: string): Promise<string | null>;
  /** Also when the statement does not name the file, by its SHA-256. */
  statementFault(file: string, bundle: string): Promise<string | null>;
  /** Whether a file holds this key; true where the key is in a key service. */
  isKey(file: string): boolean;
};

/** What cosign would use beside the key: no services. Without these files it asks the network for those of Sigstore. */
const NO_SERVICES = {
  'signing-config.json': {
    mediaType: 'application/vnd.dev.sigstore.signingconfig.v0.2+json',
    rekorTlogConfig: {},
    tsaConfig: {},
  },
  'trusted-root.json': { mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1' },
};

type SignerOptions = {
  readonly cosign: string;
  /** What cosign takes: a file, `env://NAME` or the address of a key service; null makes a trial key. */
  readonly key: string | null;
  /** Where the trial key is, or will be. */
  readonly trialDir: string;
  readonly scratch: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** @throws ReleaseError where the key cannot be read or opened */
export async function openSigner({ cosign, key, trialDir, scratch, env }: SignerOptions): Promise<Signer> {
  for (const [name, content] of Object.entries(NO_SERVICES))
    writeFileSync(join(scratch, name), JSON.stringify(content));
  const secrets = key === null ? { COSIGN_PASSWORD: '' } : passwordFor(key, env);
  const used = key ?? (await trialKey(cosign, trialDir));
  // Opens it: a wrong password is known before an image is built.
  const publicKey = await run(cosign, ['public-key', '--key', used], { env: secrets });
  const sign = (...args: string[]) => run(cosign, args, { env: secrets });
  const given = ['--key', used, '--signing-config', join(scratch, 'signing-config.json')];
  const all = [...given, '--trusted-root', join(scratch, 'trusted-root.json'), '--yes'];
  return {
    async signFile(file, bundle) {
      await sign('sign-blob', ...all, '--bundle', bundle, file);
    },
    async signStatement(file, bundle) {
      await sign('attest-blob', ...all, '--bundle', bundle, '--statement', file);
    },
    publicKey,
    kind: key === null ? 'trial' : 'given',
  };
}

/** cosign would ask for it at a terminal, which it does not have here. */
function passwordFor(key: string, { COSIGN_PASSWORD }: SignerOptions['env']): Record<string, string> {
  if (!key.includes('://') && !existsSync(key))
    throw new ReleaseError(`The key ${key} does not exist. Make one with: cosign generate-key-pair`);
  const isRemote = key.includes('://') && !key.startsWith('env://');
  if (COSIGN_PASSWORD === undefined && !isRemote)
    throw new ReleaseError(
      'COSIGN_PASSWORD is not set: it opens the key. Set it, empty for a key without a password.',
    );
  return COSIGN_PASSWORD === undefined ? {} : { COSIGN_PASSWORD };
}

async function trialKey(cosign: string, dir: string): Promise<string> {
  const file = join(dir, 'cosign.key');
  if (existsSync(file)) return file;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  await run(cosign, ['generate-key-pair'], { cwd: dir, env: { COSIGN_PASSWORD: '' } });
  return file;
}

/** @throws ReleaseError where the key does not exist */
export function openVerifier(cosign: string, publicKey: string): Verifier {
  if (!publicKey.includes('://') && !existsSync(publicKey))
    throw new ReleaseError(
      `The public key ${publicKey} does not exist. Name the one that you trust: --key cosign.pub`,
    );
  const faultOf = async (verb: string, file: string, bundle: string, ...more: string[]) => {
    if (!existsSync(bundle)) return 'it is missing';
    const args = [verb, '--key', publicKey, '--bundle', bundle, '--insecure-ignore-tlog=true', ...more, file];
    return run(cosign, args).then(
      () => null,
      (error: Error) => /^Error: (.+)$/m.exec(error.message)?.[1] ?? error.message,
    );
  };
  return {
    fileFault: (file, bundle) => faultOf('verify-blob', file, bundle),
    statementFault: (file, bundle) =>
      faultOf('verify-blob-attestation', file, bundle, '--type', 'https://slsa.dev/provenance/v1'),
    isKey: (file) =>
      publicKey.includes('://') || readFileSync(publicKey, 'utf8') === readFileSync(file, 'utf8'),
  };
}
