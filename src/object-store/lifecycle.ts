import type { LifecycleRule } from '@aws-sdk/client-s3';
import type { ExpiryRule } from './object-store.ts';

/** Classes whose objects must be restored before they can be read, which takes hours. GLACIER_IR is none of them. */
const ARCHIVES: ReadonlySet<string> = new Set(['GLACIER', 'DEEP_ARCHIVE']);

/** The class, where objects of it cannot be read. */
export const archiveOf = (storageClass: string | undefined): { readonly archive?: string } =>
  storageClass !== undefined && ARCHIVES.has(storageClass) ? { archive: storageClass } : {};

/**
 * The rules that delete or archive Hookline's objects. A rule with a tag does neither, as they have no tags. One with a size may: a
 * message that must not be in Kafka is an object at any size.
 */
export function expiryRules(rules: readonly LifecycleRule[]): ExpiryRule[] {
  return rules.flatMap(({ ID: id = '', Status, Filter, Prefix, Expiration, Transitions = [] }) => {
    const isTagged = Filter?.Tag !== undefined || (Filter?.And?.Tags ?? []).length > 0;
    if (Status !== 'Enabled' || isTagged) return [];
    const prefix = Filter?.Prefix ?? Filter?.And?.Prefix ?? Prefix ?? '';
    const archiving = Transitions.flatMap(({ StorageClass, ...when }) => {
      const { archive } = archiveOf(StorageClass);
      return archive === undefined ? [] : [{ ...when, archive }];
    });
    return [...(Expiration ? [Expiration] : []), ...archiving].flatMap((action): ExpiryRule[] => {
      const { Days: days, Date: from } = action;
      const rule = { id, prefix, ...('archive' in action && { archive: action.archive }) };
      if (from !== undefined) return [{ ...rule, from }];
      return days === undefined ? [] : [{ ...rule, days }];
    });
  });
}
