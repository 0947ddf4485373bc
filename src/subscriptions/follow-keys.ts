import { readFileSync } from 'node:fs';
import { HooklineError } from '../core/errors.ts';
import { parseSealingKeys, SEALING_KEY_HELP, type SealingKeys } from '../crypto/sealing.ts';
import type { LiveKeyring } from './keyring.ts';
import { openSecrets, type SubscriptionSecrets } from './sealed-keys.ts';
import type { SubscriptionRecord } from './subscription-record.ts';

/**
 * The keys of SEALING_KEY_FILE.
 * @throws HooklineError SEALING_KEY_INVALID
 */
export function readSealingKeys(path: string): SealingKeys {
  const keys = parseSealingKeys(readFileSync(path));
  if (!keys) throw new HooklineError('SEALING_KEY_INVALID', `${path}: give ${SEALING_KEY_HELP}`);
  return keys;
}

/** Hands a record of the `subscriptions` topic to the keyring, its secrets opened. */
export function followKeys(parts: {
  keyring: LiveKeyring;
  sealingKeys: SealingKeys | undefined;
  /** The secrets of a ref can't be opened: its deliveries can't be verified by them. */
  onSealed: (ref: string) => void;
}): (ref: string, record: SubscriptionRecord | null) => void {
  return (ref, record) => {
    let secrets: SubscriptionSecrets | null = null;
    if (record?.sealedKeys) {
      secrets = parts.sealingKeys ? openSecrets(parts.sealingKeys, record, record.sealedKeys) : null;
      if (!secrets) parts.onSealed(ref);
    }
    parts.keyring.setRecord(ref, record, secrets);
  };
}
