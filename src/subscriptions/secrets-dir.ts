import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { HooklineError } from '../core/errors.ts';
import { isRef } from '../core/names.ts';
import { encryptionKeyFault, signingPartFault } from '../crypto/keys.ts';

/** The values of a ref's files, the current one first; none where a file is missing. */
export type DirSecrets = {
  readonly subscriptionIds: readonly string[];
  readonly signingSecrets: readonly string[];
  readonly encryptionKeys: readonly string[];
};

const FILES = {
  subscriptionIds: { name: 'subscription-id', fault: signingPartFault },
  signingSecrets: { name: 'signing-secret', fault: signingPartFault },
  encryptionKeys: { name: 'encryption-key', fault: encryptionKeyFault },
} as const;

/** The refs that have a folder. Others in the folder, such as Kubernetes's `..data`, are passed over. */
export async function listRefs(dir: string): Promise<string[]> {
  return (await readdir(dir)).filter(isRef).sort();
}

/**
 * Reads the files of one ref.
 * @throws HooklineError KEYS_INVALID naming the file and what is wrong with it, never what stands in it
 */
export async function readDirSecrets(dir: string, ref: string): Promise<DirSecrets> {
  const values = async ({ name, fault }: (typeof FILES)[keyof typeof FILES]) => {
    const path = join(dir, ref, name);
    const content = await readFile(path, 'utf8').catch((error) => emptyWhenMissing(error, path));
    const texts = content
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
    for (const text of texts) {
      const why = fault(text);
      if (why) throw new HooklineError('KEYS_INVALID', `${path}: a line ${why}`);
    }
    return texts;
  };
  const [subscriptionIds, signingSecrets, encryptionKeys] = await Promise.all([
    values(FILES.subscriptionIds),
    values(FILES.signingSecrets),
    values(FILES.encryptionKeys),
  ]);
  return { subscriptionIds, signingSecrets, encryptionKeys };
}

/** Changes when any of the ref's files does: Kubernetes swaps a link of the folder, so that links are followed. */
export async function fingerprint(dir: string, ref: string): Promise<string> {
  const stats = Object.values(FILES).map(({ name }) => stat(join(dir, ref, name)).catch(() => null));
  return (await Promise.all(stats))
    .map((file) => (file ? `${file.ino}:${file.mtimeMs}:${file.size}` : '-'))
    .join(' ');
}

function emptyWhenMissing(error: NodeJS.ErrnoException, path: string): string {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return '';
  throw new HooklineError('KEYS_INVALID', `${path}: ${error.code}`, { cause: error });
}
