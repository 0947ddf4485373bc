/** What is known of a ref: a record of the compacted topic `subscriptions` (schemas/commands/subscription.avsc). */
export type SubscriptionRecord = {
  readonly ref: string;
  readonly state: SubscriptionState;
  readonly subscriptionId: string | null;
  readonly receiverUrl: string;
  readonly events: readonly string[];
  /** The command topic that created it. */
  readonly owner: string;
  readonly sealedKeys: Buffer | null;
  readonly commandId: string | null;
  /** JSON of the `extra` that was last sent for it; a repair sends it again. Absent where it was not kept yet. */
  readonly extra?: string | null;
  /** Milliseconds since 1970. */
  readonly updatedAt: number;
};

export const SUBSCRIPTION_STATES = ['REQUESTED', 'ACTIVE', 'RETIRED'] as const;
export type SubscriptionState = (typeof SUBSCRIPTION_STATES)[number];

/** The `extra` that was accepted for a ref; none where the record holds no JSON object: others may write to the topic too. */
export function acceptedExtra(
  record: Pick<SubscriptionRecord, 'extra'> | undefined,
): Readonly<Record<string, unknown>> {
  try {
    const extra: unknown = JSON.parse(record?.extra || '{}');
    const isObject = typeof extra === 'object' && extra !== null && !Array.isArray(extra);
    return isObject ? (extra as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}
