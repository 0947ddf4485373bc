import type { LifecycleRule } from '@aws-sdk/client-s3';
import type { ExpiryRule } from './object-store.ts';

/**
 * The rules that delete Hookline's objects. A rule with a tag deletes none of them, as they have no tags. One with a size may: a
 * message that must not be in Kafka is an object at any size.
 */
export function expiryRules(rules: readonly LifecycleRule[]): ExpiryRule[] {
  return rules.flatMap(({ ID: id = '', Status, Filter, Prefix, Expiration }): ExpiryRule[] => {
    const { Days, Date: date } = Expiration ?? {};
    const isTagged = Filter?.Tag !== undefined || (Filter?.And?.Tags ?? []).length > 0;
    if (Status !== 'Enabled' || isTagged) return [];
    const prefix = Filter?.Prefix ?? Filter?.And?.Prefix ?? Prefix ?? '';
    if (date !== undefined) return [{ id, prefix, from: date }];
    return Days === undefined ? [] : [{ id, prefix, days: Days }];
  });
}
