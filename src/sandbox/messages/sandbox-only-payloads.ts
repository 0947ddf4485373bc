import type { JsonObject } from '../core/json.ts';
import type { MessageDetail } from './payloads.ts';

/**
 * The interface shows no payload for these two events. What follows is made up for the sandbox and says so in every
 * message: nobody should model a schema on it.
 */
const MARK = 'made up by the sandbox: the interface does not show this payload';

/** "An account gets an entry of type CR or DR." */
export function accountsEntriesPayload({ random, at }: MessageDetail): JsonObject {
  return {
    sandboxOnly: MARK,
    accountId: random.uuid(),
    entry: {
      entryId: random.uuid(),
      type: random.pick(['CR', 'DR']),
      amount: `${random.below(100_000)}.${random.digits(2)}`,
      currency: 'EUR',
      bookedAt: at.toISOString(),
    },
  };
}

/** "A collection from universities changes its status." */
export function collectionStatusPayload({ random, at, status }: MessageDetail): JsonObject {
  return {
    sandboxOnly: MARK,
    collectionId: random.uuid(),
    status,
    reference: `UNI-${random.digits(8)}`,
    changedAt: at.toISOString(),
  };
}
