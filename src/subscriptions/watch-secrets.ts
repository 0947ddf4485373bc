import { type DirSecrets, fingerprint, listRefs, readDirSecrets } from './secrets-dir.ts';

export type SecretsWatch = { stop(): Promise<void> };

export type SecretsWatchParts = {
  readonly dir: string;
  /** Told of each ref whose files are new or changed, and with null of one whose folder is gone. */
  readonly onChange: (ref: string, secrets: DirSecrets | null) => void;
  /** Told when files can't be used: what was read of them before stays in force. */
  readonly onFault: (ref: string, error: Error) => void;
  readonly intervalMs?: number;
};

/**
 * Reads SECRETS_DIR, then looks for changes once a second. Looking finds what watching misses: the swap of links by
 * which Kubernetes renews a mounted Secret, and folders that come later.
 */
export async function watchSecrets(parts: SecretsWatchParts): Promise<SecretsWatch> {
  const seen = new Map<string, string>();
  const look = async () => {
    const refs = await listRefs(parts.dir).catch((error) => {
      parts.onFault('*', error);
      return [...seen.keys()];
    });
    for (const ref of new Set([...seen.keys(), ...refs])) {
      if (refs.includes(ref)) await readIfChanged(parts, ref, seen);
      else if (seen.delete(ref)) parts.onChange(ref, null);
    }
  };
  await look();
  let looking: Promise<void> = Promise.resolve();
  let busy = false;
  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    looking = look().finally(() => {
      busy = false;
    });
  }, parts.intervalMs ?? 1_000);
  return {
    async stop() {
      clearInterval(timer);
      await looking;
    },
  };
}

async function readIfChanged(
  parts: SecretsWatchParts,
  ref: string,
  seen: Map<string, string>,
): Promise<void> {
  const now = await fingerprint(parts.dir, ref);
  if (seen.get(ref) === now) return;
  seen.set(ref, now);
  try {
    parts.onChange(ref, await readDirSecrets(parts.dir, ref));
  } catch (error) {
    parts.onFault(ref, error as Error);
  }
}
