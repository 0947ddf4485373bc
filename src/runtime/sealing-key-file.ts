import { readFileSync } from 'node:fs';
import { type RenewalObserver, renewedFrom } from '../config/renewed-files.ts';
import { HooklineError } from '../core/errors.ts';
import { parseSealingKeys, SEALING_KEY_HELP, type SealingKeys } from '../crypto/sealing.ts';
import type { Clock } from './clock.ts';

/** How often the file is looked at. */
const CHECK_MS = 5_000;

/** The keys of SEALING_KEY_FILE as they are in the file: `current` and `all` change when it is renewed. */
export type LiveSealingKeys = SealingKeys & {
  /** Calls `listener` with the keys whenever they have changed. */
  onRenewed(listener: (keys: SealingKeys) => void): void;
};

type SealingKeyDeps = { readonly files: RenewalObserver; readonly clock: Clock };

/**
 * Keeps to the file for as long as the process runs. A changed file that holds no keys changes nothing, and is told.
 * @returns undefined where no file is named
 * @throws HooklineError SEALING_KEY_INVALID; CREDENTIALS_INVALID where the file cannot be read
 */
export function openSealingKeys(path: string, deps: SealingKeyDeps): LiveSealingKeys;
export function openSealingKeys(path: string | undefined, deps: SealingKeyDeps): LiveSealingKeys | undefined;
export function openSealingKeys(
  path: string | undefined,
  { files: observer, clock }: SealingKeyDeps,
): LiveSealingKeys | undefined {
  if (path === undefined) return undefined;
  const listeners: ((keys: SealingKeys) => void)[] = [];
  const newest = renewedFrom({
    files: [{ variable: 'SEALING_KEY_FILE', path }],
    read: (file) => readFileSync(file),
    observer,
    // A key in hex that is cut off may be one in base64, and what was sealed under the real one could not be opened.
    steady: true,
    make([content]) {
      const keys = parseSealingKeys(content as Buffer);
      if (!keys) throw new HooklineError('SEALING_KEY_INVALID', `${path}: give ${SEALING_KEY_HELP}`);
      return keys;
    },
  });
  let held = newest();
  clock.every(
    CHECK_MS,
    () => {
      const keys = newest();
      if (keys === held) return;
      held = keys;
      for (const listener of listeners) listener(keys);
    },
    { ref: false },
  );
  return {
    get current() {
      return held.current;
    },
    get all() {
      return held.all;
    },
    onRenewed: (listener) => void listeners.push(listener),
  };
}

/** The keys as they are now: what crosses to a thread is copied. */
export const sealingKeysNow = ({ current, all }: SealingKeys): SealingKeys => ({ current, all });
