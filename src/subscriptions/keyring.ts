import { decoyKey, type EncryptionKey, type SigningKey } from '../crypto/keys.ts';
import { type RefKeys, refKeys } from './ref-keys.ts';
import type { SubscriptionSecrets } from './sealed-keys.ts';
import type { DirSecrets } from './secrets-dir.ts';
import type { SubscriptionRecord } from './subscription-record.ts';

/** What is known of a ref from both sides. */
type Known = { record?: SubscriptionRecord; secrets?: SubscriptionSecrets | null; dir?: DirSecrets };

/**
 * The keys that are live now, by ref: from SECRETS_DIR first, else from the subscription's record. It changes while
 * deliveries are judged; a delivery is judged by the keys of the moment in which its body begins.
 */
export class LiveKeyring {
  readonly #ttlMs: number;
  readonly #known = new Map<string, Known>();
  readonly #keys = new Map<string, RefKeys>();
  readonly #decoys: SigningKey[] = [decoyKey()];
  readonly #waiting = new Map<string, Set<() => void>>();

  #isComplete: boolean;

  /** @param options.isComplete false where the topic is still to be read: until `complete` no ref is known to be unknown */
  constructor(options: { retiredKeysTtlMs: number; isComplete?: boolean }) {
    this.#ttlMs = options.retiredKeysTtlMs;
    this.#isComplete = options.isComplete ?? true;
  }

  /** Everything that the topic held has been handed over. */
  complete(): void {
    this.#isComplete = true;
    for (const waiting of this.#waiting.values()) for (const wake of waiting) wake();
  }

  /** @param secrets of the record, opened; null where no sealing key opens them */
  setRecord(ref: string, record: SubscriptionRecord | null, secrets: SubscriptionSecrets | null): void {
    const { dir } = this.#known.get(ref) ?? {};
    this.#set(ref, { ...(dir && { dir }), ...(record && { record, secrets }) });
  }

  setDir(ref: string, dir: DirSecrets | null): void {
    const { record, secrets = null } = this.#known.get(ref) ?? {};
    this.#set(ref, { ...(dir && { dir }), ...(record && { record, secrets }) });
  }

  /**
   * The keys to check a signature with. Never empty, and as many for every ref, known or not: decoys fill up, so that
   * all refusals take the same time.
   */
  signingKeysOf(ref: string, now = Date.now()): readonly SigningKey[] {
    const live = this.#live(ref, now)?.signing ?? [];
    return live.length === this.#decoys.length ? live : [...live, ...this.#decoys.slice(live.length)];
  }

  encryptionKeysOf(ref: string, now = Date.now()): readonly EncryptionKey[] {
    return this.#live(ref, now)?.encryption ?? [];
  }

  /**
   * The ref is being created, and the new subscription's key isn't here yet; or the topic has not been read yet. Keys of subscriptions that the ref had
   * before may be live all the same: what they don't verify can't be judged.
   */
  isPending(ref: string): boolean {
    const { record, dir } = this.#known.get(ref) ?? {};
    const isInFiles = dir && dir.subscriptionIds.length > 0 && dir.signingSecrets.length > 0;
    return (record?.state === 'REQUESTED' || !this.#isComplete) && !isInFiles;
  }

  /** Resolves when the ref is pending no more, or after `ms`. */
  async whilePending(ref: string, ms: number): Promise<void> {
    const end = performance.now() + ms;
    while (this.isPending(ref)) {
      const left = end - performance.now();
      if (left <= 0) return;
      await this.#nextChange(ref, left);
    }
  }

  refs(): readonly string[] {
    return [...this.#keys.keys()];
  }

  #live(ref: string, now: number): RefKeys | undefined {
    const keys = this.#keys.get(ref);
    if (!keys || keys.expiresAt > now) return keys;
    // A retired key's time is up: what is left is worked out anew.
    this.#set(ref, this.#known.get(ref) ?? {}, now);
    return this.#keys.get(ref);
  }

  #set(ref: string, known: Known, now = Date.now()): void {
    this.#known.set(ref, known);
    const keys = refKeys(known, this.#ttlMs, now);
    if (keys) this.#keys.set(ref, keys);
    else this.#keys.delete(ref);
    if (!known.record && !known.dir) this.#known.delete(ref);
    while (this.#decoys.length < (keys?.signing.length ?? 0)) this.#decoys.push(decoyKey());
    for (const wake of this.#waiting.get(ref) ?? []) wake();
  }

  #nextChange(ref: string, ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(ref) ?? new Set();
    this.#waiting.set(ref, waiting.add(resolve));
    const timer = setTimeout(resolve, ms);
    return promise.finally(() => {
      clearTimeout(timer);
      waiting.delete(resolve);
      if (waiting.size === 0) this.#waiting.delete(ref);
    });
  }
}
