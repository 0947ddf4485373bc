import { hasCode } from '../../core/errors.ts';
import { readSealingKeys, type SealingKeys } from '../../crypto/sealing.ts';
import { openSecrets, type SubscriptionRecord } from '../../subscriptions/subscription-record.ts';
import { CLI_GROUPS, connectKafka, loadConfig } from '../shell/connections.ts';
import { type Check, type Finding, fault, ok, skipped, unknown, warning } from '../shell/finding.ts';
import { readSubscriptions } from '../shell/read-own-topics.ts';
import { describeError } from '../shell/shell.ts';

const CHECK = 'sealed secrets';
/** Other checks say why the brokers or the registry do not answer. */
const DEADLINE_MS = 15_000;

/** Whether SEALING_KEY_FILE opens the secrets that control has written to the topic of subscriptions. */
export const checkSealedSecrets: Check = async (shell) => {
  const config = loadConfig(shell, ...CLI_GROUPS, 'subscriptions');
  const { sealingKeyFile } = config.subscriptions;
  const keys = sealingKeyFile === undefined ? null : usableKeys(sealingKeyFile);
  // The check of secrets says so too.
  if (!keys) return [skipped(CHECK, 'SEALING_KEY_FILE is not set, or cannot be used')];
  const signal = AbortSignal.any([shell.signal, AbortSignal.timeout(DEADLINE_MS)]);
  try {
    const unreadable = new Set<string>();
    const deps = { config, kafka: connectKafka(config) };
    // What interrupts it is told where it does not come to its end.
    const records = await readSubscriptions({ note() {}, signal }, deps, (finding) =>
      unreadable.add(finding),
    );
    const warnings = [...unreadable].map((finding) =>
      warning(CHECK, finding, 'see the log of ingress and the runbook'),
    );
    return [...warnings, ...assessSecrets(keys, records)];
  } catch (error) {
    if (hasCode(error, 'SCHEMA_INVALID'))
      return [skipped(CHECK, 'the schema of their records cannot be used')];
    return [unknown(CHECK, describeError(error), 'see the findings of brokers, topics and registry')];
  }
};

function usableKeys(path: string): SealingKeys | null {
  try {
    return readSealingKeys(path);
  } catch {
    return null;
  }
}

/** One finding for each ref whose secrets no key opens, and which refs still need another key than the first. */
export function assessSecrets(keys: SealingKeys, records: readonly SubscriptionRecord[]): Finding[] {
  const current = { ...keys, all: [keys.current] };
  const opens = (some: SealingKeys, record: SubscriptionRecord) =>
    record.sealedKeys === null || openSecrets(some, record, record.sealedKeys) !== null;
  const lost = records.filter((record) => !opens(keys, record));
  const older = records.filter((record) => opens(keys, record) && !opens(current, record));
  const needing = older.length === 0 ? '' : `; still sealed with an older key: ${refsOf(older)}`;
  return [
    ok(CHECK, `${records.length - lost.length} of ${records.length} ref(s) can be opened${needing}`),
    ...lost.map(({ ref }) => fault(`${CHECK} of ${ref}`, NOT_OPENED, REMEDY)),
  ];
}

const NOT_OPENED = 'no key of SEALING_KEY_FILE opens them: its webhooks cannot be verified';
const REMEDY =
  'add the key that they were sealed with as one more line of SEALING_KEY_FILE; if it is lost, create the subscription anew, with ifMatch';

/** So many are listed. */
const LISTED = 20;

function refsOf(records: readonly SubscriptionRecord[]): string {
  const refs = records.map(({ ref }) => ref).sort();
  const more = refs.length > LISTED ? ` and ${refs.length - LISTED} more` : '';
  return `${refs.slice(0, LISTED).join(', ')}${more}`;
}
