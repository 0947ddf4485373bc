import type { EventSchemaSet } from '../../src/avro/event-schema.ts';
import { restoreVerified, type VerifiedDelivery } from '../../src/core/delivery.ts';
import type { DeadLetterStage } from '../../src/core/errors.ts';
import type { OutgoingRecord } from '../../src/core/record.ts';
import { encryptionKey } from '../../src/crypto/keys.ts';
import { parseLayout } from '../../src/crypto/layout.ts';
import type { SealingKeys } from '../../src/crypto/sealing.ts';
import { type ClaimCheck, objectFirst } from '../../src/delivery/claim-check.ts';
import { createEventRoutes } from '../../src/delivery/event-routes.ts';
import type { DeliveryPorts } from '../../src/delivery/ports.ts';
import { ownEventSchemas } from './event-schemas.ts';
import { readVectors, type SealedVectors, type SignatureVectors } from './vectors.ts';

export const { subscriptionId, signingSecret } = readVectors<SignatureVectors>('signatures.json');
const sealed = readVectors<SealedVectors>('sealed.json');

export type Seen = {
  records: OutgoingRecord[];
  drift: string[];
  deadLettered: DeadLetterStage[];
  matched: string[];
  unclassified: number;
};

/** Parts of the delivery flow over the schemas that come with Hookline, and all that they saw. */
export function deliveryParts(
  options: {
    layout?: string;
    publish?: (record: OutgoingRecord, n: number) => void;
    limitOf?: (topic: string) => number;
    claims?: ClaimCheck;
    events?: EventSchemaSet;
    bodySealing?: SealingKeys;
  } = {},
): DeliveryPorts & { seen: Seen } {
  const seen: Seen = { records: [], drift: [], deadLettered: [], matched: [], unclassified: 0 };
  const layout = parseLayout(options.layout ?? 'iv12.ciphertext.tag16');
  if (!layout) throw new Error('no layout');
  let n = 0;
  const send = async (record: OutgoingRecord) => {
    options.publish?.(record, ++n);
    seen.records.push(record);
    return { topic: record.topic, partition: 0, offset: BigInt(seen.records.length - 1) };
  };
  return {
    seen,
    layout,
    claims: options.claims,
    bodySealing: options.bodySealing,
    routes: createEventRoutes(options.events ?? ownEventSchemas(), 'payments', { of: () => 258 }),
    deadLetterTopic: 'payments.dead-letter',
    encryptionKeysOf: () => [encryptionKey(sealed.encryptionKey, 0)],
    publish: objectFirst(options.claims, send),
    limitOf: options.limitOf ?? (() => Number.MAX_SAFE_INTEGER),
    observer: {
      keyMatched: (ref, use, place) => seen.matched.push(`${ref} ${use} ${place}`),
      drift: (topic, field, count = 1) =>
        seen.drift.push(count === 1 ? `${topic} ${field}` : `${topic} ${field}, ${count} values`),
      unclassified: () => {
        seen.unclassified++;
      },
      deadLettered: (stage) => seen.deadLettered.push(stage),
    },
  };
}

/** A delivery that has been verified. */
export function verified(
  body: Buffer | string,
  mediaType: 'json' | 'octet-stream' = 'json',
): VerifiedDelivery {
  const delivery = {
    ref: 'ledger-eu',
    mediaType,
    body: Buffer.from(body),
    receivedAt: 1795245881505,
    traceparent: undefined,
    subscriptionId,
  };
  return restoreVerified(delivery);
}

export const headersOf = ({ headers }: OutgoingRecord): Record<string, string> =>
  Object.fromEntries([...headers].map(([name, value]) => [name.toString(), value.toString()]));
