import { isRef } from '../core/names.ts';
import {
  decoyKey,
  type EncryptionKey,
  encryptionKey,
  MAX_EARLIER_LIVE,
  type SigningKey,
  signingKey,
} from '../crypto/keys.ts';
import type { Clock } from '../runtime/clock.ts';
import type { DirSecrets } from './secrets-dir.ts';
import type { SubscriptionRecord, SubscriptionSecrets } from './subscription-record.ts';

/** What files and the topic say about a ref. */
type Known = {
  record?: SubscriptionRecord;
  secrets?: SubscriptionSecrets | null;
  dir?: DirSecrets;
  /** Why there are others than those known here: the latest record could not be read, or no sealing key opens its secrets. */
  behind?: 'unreadable' | 'sealed' | undefined;
};

/**
 * The live keys of each ref: from SECRETS_DIR, else from the subscription's record. They may change while a delivery is
 * verified: it is verified with the keys that were live when its body began.
 */
export class LiveKeyring {
  readonly #ttlMs: number;
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();
  readonly #keys = new Map<string, RefKeys>();
  readonly #decryptionKeys = new Map<string, readonly EncryptionKey[]>();
  readonly #decoys: SigningKey[] = [decoyKey()];
  readonly #waiting = new Map<string, Set<() => void>>();

  #isComplete: boolean;
  #version = 0;

  /** @param options.isComplete false if the topic is not read yet: until `complete`, every ref without a key is pending */
  constructor(options: { retiredKeysTtlMs: number; clock: Clock; isComplete?: boolean }) {
    this.#clock = options.clock;
    this.#ttlMs = options.retiredKeysTtlMs;
    this.#isComplete = options.isComplete ?? true;
  }

  /** The topic cannot be read for now: what is known stays, and every ref may have other keys. Until `complete`. */
  incomplete(): void {
    this.#isComplete = false;
  }

  /** Call this when the whole topic has been read. */
  complete(): void {
    this.#isComplete = true;
    for (const waiting of this.#waiting.values()) for (const wake of waiting) wake();
  }

  /**
   * @param secrets of the record, opened; null where no sealing key opens them: those of the same subscription that are known stay,
   *   as a change seals them anew
   */
  setRecord(ref: string, record: SubscriptionRecord | null, secrets: SubscriptionSecrets | null): void {
    const { dir, record: before, secrets: known = null } = this.#known.get(ref) ?? {};
    const isBehind = record?.sealedKeys != null && secrets === null;
    const isSame = record?.subscriptionId != null && record.subscriptionId === before?.subscriptionId;
    const opened = isBehind && isSame ? known : secrets;
    const behind = isBehind ? 'sealed' : undefined;
    this.#set(ref, { ...(dir && { dir }), ...(record && { record, secrets: opened, behind }) });
  }

  /** Its latest record cannot be read. What is known of it stays. */
  setUnreadable(ref: string): void {
    this.#set(ref, { ...this.#known.get(ref), behind: 'unreadable' });
  }

  setDir(ref: string, dir: DirSecrets | null): void {
    const { dir: _, ...others } = this.#known.get(ref) ?? {};
    this.#set(ref, { ...others, ...(dir && { dir }) });
  }

  /**
   * The keys to check a signature with. Never empty, and the same number for every ref, known or not: decoys are added, so
   * that all refusals take the same time.
   */
  signingKeysOf(ref: string, now = this.#clock.wall()): readonly SigningKey[] {
    const live = this.#live(ref, now)?.signing ?? [];
    return live.length === this.#decoys.length ? live : [...live, ...this.#decoys.slice(live.length)];
  }

  encryptionKeysOf(ref: string, now = this.#clock.wall()): readonly EncryptionKey[] {
    return this.#live(ref, now)?.encryption ?? [];
  }

  /**
   * The keys to open what has been verified, the live ones first. Those of earlier subscriptions do not expire here: a delivery may
   * have been in a spool for long.
   */
  decryptionKeysOf(ref: string): readonly EncryptionKey[] {
    return this.#decryptionKeys.get(ref) ?? [];
  }

  /**
   * Whether a signature that no key verifies may still be right: the ref is being created and its key has not arrived, its record
   * cannot be read or opened, or the topic is not read to its end. Keys of earlier subscriptions of the ref may be live nevertheless.
   */
  isPending(ref: string): boolean {
    const { record, dir, behind } = this.#known.get(ref) ?? {};
    const hasSecret = dir !== undefined && dir.signingSecrets.length > 0;
    if (hasSecret && dir.subscriptionIds.length > 0) return false;
    if (record?.state === 'REQUESTED' || behind === 'unreadable') return true;
    if (!this.#isComplete) return isRef(ref);
    // Only the secret is sealed, not the id.
    if (behind === undefined || hasSecret) return false;
    return record?.state !== 'RETIRED' || record.updatedAt + this.#ttlMs > this.#clock.wall();
  }

  /** Resolves when the ref is no longer pending, or after `ms`. */
  async whilePending(ref: string, ms: number): Promise<void> {
    const end = this.#clock.now() + ms;
    while (this.isPending(ref)) {
      const left = end - this.#clock.now();
      if (left <= 0) return;
      await this.#nextChange(ref, left);
    }
  }

  /** Changes with the keys of any ref. */
  get version(): number {
    return this.#version;
  }

  /** Whether the ref has a key. */
  has(ref: string): boolean {
    return this.#keys.has(ref);
  }

  refs(): readonly string[] {
    return [...this.#keys.keys()];
  }

  #live(ref: string, now: number): RefKeys | undefined {
    const keys = this.#keys.get(ref);
    if (!keys || keys.expiresAt > now) return keys;
    // A retired key has expired: compute the remaining keys.
    this.#set(ref, this.#known.get(ref) ?? {}, now);
    return this.#keys.get(ref);
  }

  #set(ref: string, known: Known, now = this.#clock.wall()): void {
    this.#version++;
    this.#known.set(ref, known);
    const keys = refKeys(known, this.#ttlMs, now);
    if (keys) this.#keys.set(ref, keys);
    else this.#keys.delete(ref);
    const unexpired = refKeys(known, Number.POSITIVE_INFINITY, now)?.encryption;
    if (unexpired) this.#decryptionKeys.set(ref, unexpired);
    else this.#decryptionKeys.delete(ref);
    if (!known.record && !known.dir && !known.behind) this.#known.delete(ref);
    while (this.#decoys.length < (keys?.signing.length ?? 0)) this.#decoys.push(decoyKey());
    for (const wake of this.#waiting.get(ref) ?? []) wake();
  }

  #nextChange(ref: string, ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(ref) ?? new Set();
    this.#waiting.set(ref, waiting.add(resolve));
    const timer = this.#clock.after(ms, resolve);
    return promise.finally(() => {
      timer.cancel();
      waiting.delete(resolve);
      if (waiting.size === 0) this.#waiting.delete(ref);
    });
  }
}

/** The live keys of one ref, the current ones first. */
type RefKeys = {
  readonly signing: readonly SigningKey[];
  readonly encryption: readonly EncryptionKey[];
  /** When the first retired key expires. */
  readonly expiresAt: number;
};

export type KeySources = {
  readonly record?: SubscriptionRecord;
  readonly secrets?: SubscriptionSecrets | null;
  readonly dir?: DirSecrets;
};

/**
 * The live keys of a ref. Files come first: if they have signing secrets, those of the record are not live. A file with
 * only the secret is combined with the record's subscription ids, as a provider may send the secret separately. What was sealed
 * with the record's encryption keys is opened all the same.
 * @returns null if the ref has no live key
 */
export function refKeys(sources: KeySources, retiredKeysTtlMs: number, now: number): RefKeys | null {
  const { record, dir } = sources;
  const recorded = recordedKeys(sources, retiredKeysTtlMs).filter((keys) => keys.until > now);
  // A subscription may have had several encryption keys.
  const verifying = new Set([...toList(record?.subscriptionId), ...recorded.flatMap(({ id }) => toList(id))]);
  const known = [...verifying].slice(0, MAX_EARLIER_LIVE + toList(record?.subscriptionId).length);
  const ids = dir?.subscriptionIds.length ? dir.subscriptionIds : known;
  // During a rotation of ids and secrets, any pair of them may have been used.
  const fromDir = ids.flatMap((id) => (dir?.signingSecrets ?? []).map((secret) => ({ id, secret })));
  const pairs =
    fromDir.length > 0
      ? fromDir
      : recorded.flatMap(({ id, secret }) => (id && secret ? [{ id, secret }] : []));
  const openers = [...(dir?.encryptionKeys ?? []), ...recorded.flatMap(({ opener }) => toList(opener))];
  if (pairs.length === 0 && openers.length === 0) return null;
  return {
    signing: pairs.map(({ id, secret }, index) => signingKey(id, secret, index)),
    encryption: [...new Set(openers)].map((text, index) => encryptionKey(text, index)),
    expiresAt: Math.min(...recorded.map((keys) => keys.until)),
  };
}

type Recorded = {
  id: string | undefined;
  secret: string | undefined;
  opener: string | undefined;
  until: number;
};

/** The keys of the record, the current subscription's first, each with its expiry. */
function recordedKeys({ record, secrets }: KeySources, ttlMs: number): Recorded[] {
  if (!record || !secrets) return [];
  const until = record.state === 'RETIRED' ? record.updatedAt + ttlMs : Number.POSITIVE_INFINITY;
  const id = record.subscriptionId ?? undefined;
  const current = { id, secret: secrets.signingSecret, opener: secrets.encryptionKey, until };
  const previous = (secrets.previous ?? []).map((retired) => ({
    id: retired.subscriptionId,
    secret: retired.signingSecret,
    opener: retired.encryptionKey,
    until: Math.min(until, retired.retiredAt + ttlMs),
  }));
  return [current, ...previous];
}

const toList = (text: string | null | undefined): readonly string[] => (text ? [text] : []);
