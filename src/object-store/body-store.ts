import { HooklineError, hasCode } from '../core/errors.ts';
import type { ObjectReference, OutgoingObject } from '../core/record.ts';
import { sha256Of } from '../crypto/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { type Backoff, retry } from '../runtime/retry.ts';
import { type ObjectStore, ObjectStoreFault } from './object-store.ts';
import type { BodyStoreAddress } from './settings.ts';

/** How a write ended: created; there already, with the same bytes; the name has other bytes; or as the fault says. */
export type WriteOutcome = 'created' | 'exists' | 'taken' | ObjectStoreFault['kind'];

export type BodyStoreObserver = {
  /** @param why of an outcome that is a fault */
  written(outcome: WriteOutcome, seconds: number, why?: string): void;
  /** Why the store takes nothing, at the first failure after a success; null with the first success after failures. */
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

/** 0.2, 0.4, 0.8, 1.6, 2, 2 … s, each shortened by up to a quarter, until the deadline. */
const AGAIN: Backoff = { firstMs: 200, factor: 2, maxMs: 2_000 };
/** The object of {@link BodyStore.check}. */
export const CHECK_NAME = 'hookline-check.json';
/** When one has failed, all fail at once; before each single one that finds out whether the store is back. The last for all that follow. */
const PROBE_AFTER_MS = [1_000, 2_000, 4_000, 5_000];

/** What is known of a failure. Not the error: the frames of its stack hold what was written, 50 MB of it. */
type Trouble = Pick<HooklineError, 'code' | 'detail' | 'remedy' | 'message'>;

/** Messages and bodies in an object store. Each object has a name that its bytes decide, so that every write may be repeated. */
export class BodyStore {
  readonly #deps: BodyStoreDeps;
  #probes = 0;
  #trouble: Trouble | null = null;
  /** While the store is in trouble: when the next write may try it. */
  #probeAt = 0;
  #isProbing = false;

  constructor(deps: BodyStoreDeps) {
    this.#deps = deps;
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
    return this.#trouble?.message ?? null;
  }

  /** Why a write would fail at once, or null: a store in trouble gets a single write from time to time. */
  get refusal(): HooklineError | null {
    const { isGuarded = false, clock } = this.#deps;
    const isTime = !this.#isProbing && clock.now() >= this.#probeAt;
    if (isGuarded || isTime || !this.#trouble) return null;
    const { code, detail, remedy } = this.#trouble;
    return new HooklineError(code, detail, remedy === undefined ? {} : { remedy });
  }

  /** Whether a write would try the store now. */
  get mayTry(): boolean {
    return this.refusal === null;
  }

  /**
   * Resolves when the store has the object.
   * @throws HooklineError BODY_STORE_UNAVAILABLE, BODY_STORE_REFUSED: it may be there or not; OBJECT_TAKEN: other bytes
   * have its name
   */
  async write(object: OutgoingObject): Promise<void> {
    const { refusal } = this;
    if (refusal) throw refusal;
    const isProbe = this.#trouble !== null;
    this.#isProbing ||= isProbe;
    const { clock } = this.#deps;
    const start = clock.now();
    const ended = (outcome: WriteOutcome, error?: HooklineError) =>
      this.#note(outcome, (clock.now() - start) / 1_000, error);
    try {
      ended(await this.#withDeadline((signal) => this.#create(object, signal), this.#deps.attempts));
    } catch (error) {
      ended(outcomeOf(error), error as HooklineError);
      throw error;
    } finally {
      if (isProbe) this.#isProbing = false;
    }
  }

  /** A write of another client of the same store has ended: what it showed counts here too. */
  noteWrite(outcome: WriteOutcome, seconds: number, why?: string): void {
    this.#note(outcome, seconds, new HooklineError('BODY_STORE_UNAVAILABLE', why));
  }

  /**
   * The object's bytes, verified.
   * @throws HooklineError OBJECT_MISSING, OBJECT_CHANGED, BODY_STORE_UNAVAILABLE, BODY_STORE_REFUSED
   */
  async read({ uri, bytes, sha256 }: ObjectReference): Promise<Buffer> {
    const key = this.keyOf(uri);
    const found = await this.#withDeadline((signal) => this.#deps.store.read(key, bytes, signal));
    if (!found) throw new HooklineError('OBJECT_MISSING', uri);
    if (found.length !== bytes || sha256Of(found) !== sha256) throw new HooklineError('OBJECT_CHANGED', uri);
    return found;
  }

  /**
   * Writes a small object, which stays. A store that does not answer passes: it may be back when it is needed.
   * @throws HooklineError BODY_STORE_REFUSED where somebody must change rights, settings or credentials
   */
  async check(): Promise<void> {
    try {
      await this.write(this.checkObject(CHECK_NAME));
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

  async #create(object: OutgoingObject, signal: AbortSignal): Promise<'created' | 'exists'> {
    const { store } = this.#deps;
    const key = this.keyOf(object.uri);
    if ((await store.create(key, object, signal)) === 'created') return 'created';
    const found = await store.describe(key, signal);
    if (!found) throw new ObjectStoreFault('unavailable', `${object.uri} was there and was deleted at once`);
    const isSame =
      found.bytes === object.bytes.length &&
      (found.sha256 ?? (await this.#hashOf(key, found.bytes, signal))) === object.sha256;
    if (!isSame) throw new HooklineError('OBJECT_TAKEN', object.uri);
    return 'exists';
  }

  async #hashOf(key: string, bytes: number, signal: AbortSignal): Promise<string> {
    return sha256Of((await this.#deps.store.read(key, bytes, signal)) ?? Buffer.alloc(0));
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
        ...{ backoff: AGAIN, signal: deadline.signal, clock },
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
      const code = kind === 'refused' ? 'BODY_STORE_REFUSED' : 'BODY_STORE_UNAVAILABLE';
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

  #note(outcome: WriteOutcome, seconds: number, error?: HooklineError): void {
    this.#deps.observer.written(outcome, seconds, error?.detail);
    if (error && (outcome === 'unavailable' || outcome === 'refused')) this.#noteFailure(error);
    else this.#noteSuccess();
  }

  #noteSuccess(): void {
    this.#probes = 0;
    this.#probeAt = 0;
    if (this.#trouble) this.#deps.observer.troubleChanged(null);
    this.#trouble = null;
  }

  #noteFailure(error: HooklineError): void {
    const now = this.#deps.clock.now();
    // Those that were under way together fail together: they are one failure.
    if (now >= this.#probeAt)
      this.#probeAt = now + (PROBE_AFTER_MS[Math.min(this.#probes++, PROBE_AFTER_MS.length - 1)] ?? 0);
    if (!this.#trouble) this.#deps.observer.troubleChanged(error.message);
    const { code, detail, remedy, message } = error;
    this.#trouble = { code, detail, remedy, message };
  }
}

function outcomeOf(error: unknown): WriteOutcome {
  if (hasCode(error, 'OBJECT_TAKEN')) return 'taken';
  return hasCode(error, 'BODY_STORE_REFUSED') ? 'refused' : 'unavailable';
}
