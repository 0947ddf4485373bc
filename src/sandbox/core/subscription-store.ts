import { randomInt, randomUUID } from 'node:crypto';
import type { EventName } from './event-names.ts';
import type { JsonObject } from './json.ts';

export type Subscription = {
  /** 36 characters, like the secret: together they are the key of the signature. */
  readonly id: string;
  readonly signingSecret: string;
  /** 32 characters, or null where the customer gave none: then no message can be encrypted. */
  readonly encryptionKey: string | null;
  readonly url: string;
  readonly events: readonly EventName[];
  readonly active: boolean;
  /** Fields of the requests that are not in the templates. */
  readonly extra: JsonObject;
  readonly createdAt: string;
};

export type SubscriptionStore = ReturnType<typeof createSubscriptionStore>;

/** The subscriptions, in the order of their creation. Two may have the same URL: the interface does not exclude it. */
export function createSubscriptionStore() {
  const byId = new Map<string, Subscription>();
  return {
    /** Adds one, or replaces the one with its id. */
    put(subscription: Subscription): Subscription {
      const kept = Object.freeze({ ...subscription });
      byId.set(kept.id, kept);
      return kept;
    },
    get: (id: string) => byId.get(id),
    remove: (id: string) => byId.delete(id),
    all: () => [...byId.values()],
    clear: () => byId.clear(),
  };
}

export const newSubscriptionId = (): string => randomUUID();

/** 36 letters and digits: as long as an id, but clearly not an id. */
export function newSigningSecret(): string {
  const letters = 'abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
  return Array.from({ length: 36 }, () => letters[randomInt(letters.length)]).join('');
}
