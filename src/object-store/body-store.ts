import { HooklineError, hasCode } from '../core/errors.ts';
import type { ObjectReference, OutgoingObject } from '../core/record.ts';
import { sha256Of } from '../crypto/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { retry } from '../runtime/retry.ts';
import { type ObjectStore, ObjectStoreFault, STORE_BACKOFF } from './object-store.ts';
import type { BodyStoreAddress } from './settings.ts';
import { type Evidence, StoreBreaker } from './store-breaker.ts';

/** How a write ended: created; there already, with the same bytes; the name has other bytes; or as the fault says. */
export type WriteOutcome = 'created' | 'exists' | 'taken' | ObjectStoreFault['kind'];

export type BodyStoreObserver = {
  /** @param error of an outcome that is a fault */
  written(outcome: WriteOutcome, seconds: number, error?: HooklineError): void;
  /** Why the store takes nothing; null when it takes messages again, see {@link StoreBreaker}. */
  troubleChanged(why: string | null): void;
};

export type BodyStoreDeps = {
  readonly store: ObjectStore;
  readonly address: BodyStoreAddress;
  /** BODY_STORE_DEADLINE_MS: of one write or read, its repeats included. */
  readonly deadlineMs: number;
  /** The most tries of a write; unset: as many as the deadline allows. */
  readonly attempts?: number | undefined;
  /** Another client of the same store decides when it is left alone: every write tries it. */
  readonly isGuarded?: boolean | undefined;
  readonly clock: Clock;
  readonly observer: BodyStoreObserver;
};

/** The object of {@link BodyStore.check}. */
const CHECK_NAME = 'hookline-check.json';
/** How often at the most a refused object makes a check find out whether the store takes others. */
const DOUBT_EVERY_MS = 5_000;
const NOT_S3 = 'check BODY_STORE_ENDPOINT, and what stands before the store: something answers in its place';

/** Messages and bodies in an object store. Each object has a name that its bytes decide, so that every write may be repeated. */
export class BodyStore {
  readonly #deps: BodyStoreDeps;
  readonly #breaker: StoreBreaker;
  #doubtedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: BodyStoreDeps) {
    this.#deps = deps;
    this.#breaker = new StoreBreaker(deps.clock, (why) => deps.observer.troubleChanged(why));
  }

  /** The address of an object: {prefix}/{topic}/{yyyy}/{mm}/{dd}/{name}, by the UTC date of the receipt. */
  uriOf({ topic, receivedAt, name }: { topic: string; receivedAt: number; name: string }): string {
    const { bucket, prefix } = this.#deps.address;
    const date = new Date(receivedAt).toISOString().slice(0, 10).replaceAll('-', '/');
    return `s3://${[bucket, prefix, topic, date, name].filter((step) => step !== '').join('/')}`;
  }

  /** The store itself, for tools. */
  get store(): ObjectStore {
    return this.#deps.store;
  }

  get address(): BodyStoreAddress {
    return this.#deps.address;
  }

  /** Why the store takes nothing, or null. */
  get trouble(): string | null {
    return this.#breaker.trouble;
  }

  /** Why a write would fail at once, or null: a store in trouble gets a single write from time to time. */
  get refusal(): HooklineError | null {
    return this.#deps.isGuarded ? null : this.#breaker.refusal;
  }

  /** See {@link StoreBreaker.isMessageAwaited}. */
  get isMessageAwaited(): boolean {
    return this.#breaker.isMessageAwaited;
  }

  /**
   * Resolves when the store has the object.
   * @throws HooklineError BODY_STORE_UNAVAILABLE, BODY_STORE_REFUSED: it may be there or not; OBJECT_TAKEN: other bytes
   * have its name
   */
  write(object: OutgoingObject): Promise<void> {
    return this.#tryWrite(object, 'message');
  }

  /** A write of another client of the same store has ended: what it showed counts here too. */
  noteWrite(outcome: WriteOutcome, seconds: number, error?: HooklineError): void {
    this.#note(outcome, seconds, 'message', error);
  }

  /**
   * The object's bytes, verified.
   * @throws HooklineError OBJECT_MISSING, OBJECT_CHANGED, BODY_STORE_UNAVAILABLE, BODY_STORE_REFUSED
   */
  async read({ uri, bytes, sha256 }: ObjectReference): Promise<Buffer> {
    const key = this.keyOf(uri);
    const found = await this.#withDeadline((signal) => this.#deps.store.read(key, bytes, signal));
    if (!found) throw new HooklineError('OBJECT_MISSING', uri);
    if (found === 'larger' || found.length !== bytes || sha256Of(found) !== sha256)
      throw new HooklineError('OBJECT_CHANGED', uri);
    return found;
  }

  /**
   * Writes a small object over the one of the last check: a store that is full or denies writes may still confirm what is
   * there. A store that does not answer passes: it may be back when it is needed.
   * @throws HooklineError BODY_STORE_REFUSED where somebody must change rights, settings or credentials
   */
  async check(): Promise<void> {
    try {
      await this.#tryWrite(this.checkObject(CHECK_NAME), 'check');
    } catch (error) {
      if (hasCode(error, 'BODY_STORE_REFUSED')) throw error;
    }
  }

  /** A small object that shows whether the store takes any. */
  checkObject(name: string): OutgoingObject {
    const { bucket, prefix } = this.#deps.address;
    const bytes = Buffer.from('{"writtenBy":"hookline"}');
    const uri = `s3://${[bucket, prefix, name].filter((step) => step !== '').join('/')}`;
    return { uri, bytes, sha256: sha256Of(bytes), contentType: 'application/json' };
  }

  close(): void {
    this.#deps.store.close();
  }

  async #tryWrite(object: OutgoingObject, as: Evidence): Promise<void> {
    const { refusal } = this;
    if (refusal) throw refusal;
    const { clock, attempts } = this.#deps;
    const start = clock.now();
    const seconds = () => (clock.now() - start) / 1_000;
    const end = this.#breaker.begin();
    try {
      const outcome = await this.#withDeadline((signal) => this.#put(object, as, signal), attempts);
      this.#note(outcome, seconds(), as);
    } catch (error) {
      this.#note(outcomeOf(error, as), seconds(), as, error as HooklineError);
      throw error;
    } finally {
      end();
    }
  }

  async #put(object: OutgoingObject, as: Evidence, signal: AbortSignal): Promise<'created' | 'exists'> {
    const { store } = this.#deps;
    const { uri, sha256, bytes } = object;
    const key = this.keyOf(uri);
    const answer = await (as === 'check'
      ? store.replace(key, object, signal)
      : store.create(key, object, signal));
    if (answer === 'created') return 'created';
    const found = await store.describe(key, signal);
    const isSame =
      found?.bytes === bytes.length &&
      (found.sha256 ?? (await store.hash(key, found.bytes, signal))) === sha256;
    if (isSame) return answer === 'exists' ? 'exists' : 'created';
    if (answer === 'unconfirmed')
      throw new ObjectStoreFault('unavailable', `${uri} was confirmed and is not there`, { remedy: NOT_S3 });
    if (!found) throw new ObjectStoreFault('unavailable', `${uri} was there and was deleted at once`);
    throw new HooklineError('OBJECT_TAKEN', uri);
  }

  /** @throws HooklineError BODY_STORE_UNAVAILABLE, BODY_STORE_REFUSED, and what `attempt` throws of its own */
  async #withDeadline<T>(
    attempt: (signal: AbortSignal) => Promise<T>,
    attempts = Number.POSITIVE_INFINITY,
  ): Promise<T> {
    const { clock, deadlineMs } = this.#deps;
    const deadline = new AbortController();
    const timer = clock.after(deadlineMs, () => deadline.abort());
    let last: ObjectStoreFault | undefined;
    let failed = 0;
    try {
      return await retry(() => attempt(deadline.signal), {
        backoff: STORE_BACKOFF,
        signal: deadline.signal,
        clock,
        again: (error) =>
          error instanceof ObjectStoreFault && error.kind === 'unavailable' && ++failed < attempts,
        onFailure(error) {
          if (error instanceof ObjectStoreFault) last = error;
        },
      });
    } catch (error) {
      if (error instanceof HooklineError) throw error;
      if (!deadline.signal.aborted && !(error instanceof ObjectStoreFault)) throw error;
      const {
        kind = 'unavailable',
        message,
        remedy,
      } = last ?? { message: `no answer within ${deadlineMs} ms` };
      const code = kind === 'unavailable' ? 'BODY_STORE_UNAVAILABLE' : 'BODY_STORE_REFUSED';
      throw new HooklineError(code, message, {
        cause: last ?? error,
        ...(remedy !== undefined && { remedy }),
      });
    } finally {
      timer.cancel();
    }
  }

  /** @throws HooklineError OBJECT_MISSING where the address is in another bucket: no record decides which is asked */
  keyOf(uri: string): string {
    const { bucket } = this.#deps.address;
    const start = `s3://${bucket}/`;
    if (uri.startsWith(start)) return uri.slice(start.length);
    throw new HooklineError('OBJECT_MISSING', `${uri} is not in the bucket of BODY_STORE, ${bucket}`);
  }

  #note(outcome: WriteOutcome, seconds: number, as: Evidence, error?: HooklineError): void {
    this.#deps.observer.written(outcome, seconds, error);
    if (outcome === 'object_refused') this.#checkOthers();
    else if (error && outcome !== 'taken') this.#breaker.failed(error, as);
    else this.#breaker.passed(as);
  }

  /** The store's answer says that it is this object: a check finds out whether it takes others. */
  #checkOthers(): void {
    const { isGuarded, clock } = this.#deps;
    if (isGuarded || clock.now() < this.#doubtedAt + DOUBT_EVERY_MS) return;
    this.#doubtedAt = clock.now();
    this.check().catch(() => {});
  }
}

/** A check's object is as plain as any: what refuses it refuses all. */
function outcomeOf(error: unknown, as: Evidence): WriteOutcome {
  if (hasCode(error, 'OBJECT_TAKEN')) return 'taken';
  if (!hasCode(error, 'BODY_STORE_REFUSED')) return 'unavailable';
  const { cause } = error;
  const isOneObject = cause instanceof ObjectStoreFault && cause.kind === 'object_refused';
  return isOneObject && as === 'message' ? 'object_refused' : 'refused';
}
