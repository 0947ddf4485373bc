import { type DirSecrets, fingerprint, listRefs, readDirSecrets } from './secrets-dir.ts';

export type SecretsWatch = {
  /** Looks now, as it does by itself once a second; or waits for the look that is under way. */
  look(): Promise<void>;
  stop(): Promise<void>;
};

export type SecretsWatchParts = {
  readonly dir: string;
  /** Told of each ref whose files are new or changed, and with null of one whose folder is gone. */
  readonly onChange: (ref: string, secrets: DirSecrets | null) => void;
  /** Told when files can't be used, once for each reason: what was read of them before stays in force. */
  readonly onFault: (ref: string, error: Error) => void;
  readonly intervalMs?: number;
};

/** What is known of a ref's files, each as a fingerprint. */
type Seen = { inForce?: string; lastLook?: string };

const GONE = 'gone';
/** Stands for the folder as a whole in a fault: no ref has this name. */
const WHOLE = '*';

/**
 * Reads SECRETS_DIR, then looks for changes once a second. Looking finds what watching misses: the swap of links by
 * which Kubernetes renews a mounted Secret, and folders that come later. A change counts when two looks have seen the
 * same: who writes several files or lines, or empties a file before writing it, is let finish.
 */
export async function watchSecrets(parts: SecretsWatchParts): Promise<SecretsWatch> {
  const lookOnce = createLook(parts);
  await lookOnce(true);
  let looking: Promise<void> | undefined;
  const look = () => {
    looking ??= lookOnce(false).finally(() => {
      looking = undefined;
    });
    return looking;
  };
  const timer = setInterval(() => void look(), parts.intervalMs ?? 1_000);
  return {
    look,
    async stop() {
      clearInterval(timer);
      await looking;
    },
  };
}

function createLook({ dir, onChange, onFault }: SecretsWatchParts): (isFirst: boolean) => Promise<void> {
  const seen = new Map<string, Seen>();
  const faults = new Map<string, string>();
  const report = (ref: string, error: Error) => {
    if (faults.get(ref) === error.message) return;
    faults.set(ref, error.message);
    onFault(ref, error);
  };

  const readChanged = async (ref: string, now: string) => {
    const secrets = await readDirSecrets(dir, ref);
    // Changed while it was read: it may be half of the one and half of the other.
    if ((await fingerprint(dir, ref)) !== now) return;
    seen.set(ref, { inForce: now, lastLook: now });
    faults.delete(ref);
    onChange(ref, secrets);
  };

  const forget = (ref: string) => {
    const { inForce } = seen.get(ref) ?? {};
    seen.delete(ref);
    faults.delete(ref);
    if (inForce !== undefined) onChange(ref, null);
  };

  return async (isFirst) => {
    const refs = await listRefs(dir).catch((error: Error) => report(WHOLE, error));
    // A folder that can't be listed, as while a volume is away, says nothing of what is in it.
    if (!refs) return;
    faults.delete(WHOLE);
    for (const ref of new Set([...seen.keys(), ...refs])) {
      const now = refs.includes(ref) ? await fingerprint(dir, ref) : GONE;
      const { inForce, lastLook } = seen.get(ref) ?? {};
      seen.set(ref, { ...(inForce !== undefined && { inForce }), lastLook: now });
      if (now === inForce || (lastLook !== now && !isFirst)) continue;
      if (now === GONE) forget(ref);
      else await readChanged(ref, now).catch((error: Error) => report(ref, error));
    }
  };
}
