import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { HooklineError } from '../core/errors.ts';
import { isRef } from '../core/names.ts';
import { encryptionKeyFault, signingPartFault } from '../crypto/keys.ts';
import type { Clock } from '../runtime/clock.ts';

/** The values of a ref's files, the current one first; empty if a file is missing. */
export type DirSecrets = {
  readonly subscriptionIds: readonly string[];
  readonly signingSecrets: readonly string[];
  readonly encryptionKeys: readonly string[];
};

const NO_SECRETS: DirSecrets = { subscriptionIds: [], signingSecrets: [], encryptionKeys: [] };

/** Reads a ref's files whenever it is asked; without SECRETS_DIR there are none. */
export const secretsIn =
  (dir: string | undefined) =>
  async (ref: string, only?: readonly (keyof DirSecrets)[]): Promise<DirSecrets> =>
    dir === undefined ? NO_SECRETS : readDirSecrets(dir, ref, only);

const FILES = {
  subscriptionIds: { name: 'subscription-id', fault: signingPartFault },
  signingSecrets: { name: 'signing-secret', fault: signingPartFault },
  encryptionKeys: { name: 'encryption-key', fault: encryptionKeyFault },
} as const;

const LISTS = ['subscriptionIds', 'signingSecrets', 'encryptionKeys'] as const;

/** The names of those that nobody else may read. */
export const SECRET_FILES: readonly string[] = [FILES.signingSecrets.name, FILES.encryptionKeys.name];

/** The refs that have a folder. Others in the folder, such as Kubernetes's `..data`, are skipped. */
export async function listRefs(dir: string): Promise<string[]> {
  return (await readdir(dir)).filter(isRef).sort();
}

/**
 * Reads the files of one ref.
 * @param only those to read; what others have is left out, and their faults do not matter
 * @throws HooklineError KEYS_INVALID with the file and its fault, never with its content
 */
export async function readDirSecrets(
  dir: string,
  ref: string,
  only: readonly (keyof DirSecrets)[] = LISTS,
): Promise<DirSecrets> {
  const values = async (list: keyof DirSecrets) => {
    if (!only.includes(list)) return [];
    const { name, fault } = FILES[list];
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
    values('subscriptionIds'),
    values('signingSecrets'),
    values('encryptionKeys'),
  ]);
  return { subscriptionIds, signingSecrets, encryptionKeys };
}

/** A fingerprint of the ref's files. Follows links, as Kubernetes replaces a link in the folder when a Secret changes. */
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

export type SecretsWatch = {
  /** Checks now, in addition to once a second, or waits for a check that is in progress. */
  check(): Promise<void>;
  stop(): Promise<void>;
};

type SecretsWatchDeps = {
  readonly dir: string;
  /** Called for each ref whose files are new or changed, and with null for one whose folder was removed. */
  readonly onChange: (ref: string, secrets: DirSecrets | null) => void;
  /** Called when files cannot be used, once for each reason. `isKept`: their previous content stays in use; else there is none. */
  readonly onFault: (ref: string, error: Error, isKept: boolean) => void;
  readonly intervalMs?: number;
  readonly clock: Clock;
};

/** The secrets in use of a ref, and the fingerprint of its files at the last check. */
type Seen = { readonly inForce?: InForce; readonly lastCheck?: string };
type InForce = { readonly fingerprint: string; readonly secrets: DirSecrets };

const GONE = 'gone';
/** The folder as a whole, in a fault: no ref has this name. */
const WHOLE = '*';

/**
 * Reads SECRETS_DIR, then checks for changes once a second. Polling finds what watching misses: the link that Kubernetes
 * replaces when a mounted Secret changes, and new folders. An added key counts at once; a removed one counts after two
 * checks have seen the same, so that a program that empties a file before writing it can finish. A file that stays empty ends none of
 * its values: every webhook of the ref would be refused.
 */
export async function watchSecrets(deps: SecretsWatchDeps): Promise<SecretsWatch> {
  const checkOnce = createCheck(deps);
  await checkOnce(true);
  let checking: Promise<void> | undefined;
  const check = () => {
    checking ??= checkOnce(false).finally(() => {
      checking = undefined;
    });
    return checking;
  };
  const timer = deps.clock.every(deps.intervalMs ?? 1_000, () => void check());
  return {
    check,
    async stop() {
      timer.cancel();
      await checking;
    },
  };
}

function createCheck({ dir, onChange, onFault }: SecretsWatchDeps): (isFirst: boolean) => Promise<void> {
  const seen = new Map<string, Seen>();
  const faults = new Map<string, string>();
  const report = (ref: string, error: Error) => {
    if (faults.get(ref) === error.message) return;
    faults.set(ref, error.message);
    const known = ref === WHOLE ? [...seen.values()] : [seen.get(ref)];
    const isKept = known.some((one) => one?.inForce !== undefined);
    onFault(ref, error, isKept);
  };

  const readChanged = async (ref: string, now: string, isSettled: boolean) => {
    const before = seen.get(ref)?.inForce?.secrets;
    const read = await readDirSecrets(dir, ref);
    // The files changed during the reading, which may have mixed both versions.
    if ((await fingerprint(dir, ref)) !== now) return;
    if (before ? !isSettled && removes(before, read) : isEmpty(read)) return;
    const { secrets, emptied } = await keepEmptied(dir, ref, { before: before ?? read, read });
    seen.set(ref, { inForce: { fingerprint: now, secrets }, lastCheck: now });
    faults.delete(ref);
    onChange(ref, secrets);
    if (emptied.length === 0) return;
    const why = `${emptied.join(', ')}: empty now, and its earlier values stay live; remove the file to end them`;
    report(ref, new HooklineError('KEYS_INVALID', why));
  };

  const forget = (ref: string) => {
    const { inForce } = seen.get(ref) ?? {};
    seen.delete(ref);
    faults.delete(ref);
    if (inForce !== undefined) onChange(ref, null);
  };

  return async (isFirst) => {
    const refs = await listRefs(dir).catch((error: Error) => report(WHOLE, error));
    // A folder that cannot be listed, for example on an unavailable volume, is not an empty folder.
    if (!refs) return;
    faults.delete(WHOLE);
    for (const ref of new Set([...seen.keys(), ...refs])) {
      const now = refs.includes(ref) ? await fingerprint(dir, ref) : GONE;
      const { inForce, lastCheck } = seen.get(ref) ?? {};
      const isSettled = isFirst || lastCheck === now;
      seen.set(ref, { ...(inForce && { inForce }), lastCheck: now });
      if (now === inForce?.fingerprint) continue;
      if (now !== GONE) {
        // A file that is just being written is not a fault.
        const onError = (error: Error) => isSettled && report(ref, error);
        await readChanged(ref, now, isSettled).catch(onError);
      } else if (isSettled) forget(ref);
    }
  };
}

/** What was read; of files that had values and hold none any more, as after a program that could not write them, the earlier ones. */
async function keepEmptied(
  dir: string,
  ref: string,
  { before, read }: { readonly before: DirSecrets; readonly read: DirSecrets },
): Promise<{ readonly secrets: DirSecrets; readonly emptied: readonly string[] }> {
  const secrets: { -readonly [List in keyof DirSecrets]: DirSecrets[List] } = { ...read };
  const emptied: string[] = [];
  for (const list of LISTS) {
    if (before[list].length === 0 || read[list].length > 0) continue;
    const path = join(dir, ref, FILES[list].name);
    // One that is gone was removed.
    if (!(await stat(path).catch(() => null))) continue;
    secrets[list] = before[list];
    emptied.push(path);
  }
  return { secrets, emptied };
}

const removes = (before: DirSecrets, after: DirSecrets) =>
  LISTS.some((list) => before[list].some((value) => !after[list].includes(value)));

/** A folder without the file, or a file with the name of a ref: nothing to report. */
const isEmpty = (secrets: DirSecrets) => LISTS.every((list) => secrets[list].length === 0);
