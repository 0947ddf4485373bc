import { createHash } from 'node:crypto';
import {
  type NewObject,
  type ObjectStore,
  ObjectStoreFault,
  type WriteAnswer,
} from '../../../src/object-store/object-store.ts';
import type { Random } from '../../faults/random.ts';
import type { Actor, Simulation } from '../engine/simulation.ts';

/** What a bucket does with calls. `lost`: it does it, and its answer never comes; `late`: it does it long after the caller has gone. */
export type ObjectFault = ObjectStoreFault['kind'] | 'lost' | 'late' | 'hangs' | 'lies';

/** Of one call to the bucket, at the most, while nothing slows it down. */
export const BUCKET_LATENCY_MS = 20;

/** A bucket: what is in it survives every process. */
export class ModelBucket {
  readonly objects = new Map<string, Buffer>();
  fault: { readonly kind: ObjectFault; readonly chance: number } | undefined;
  /** Of one call, at the most. */
  latencyMs = BUCKET_LATENCY_MS;
}

/** After so long without a byte the client takes the store for unavailable; see src/object-store/s3.ts. */
const SILENCE_MS = 10_000;

/** A process's client of a bucket. */
export class ModelObjects implements ObjectStore {
  readonly #simulation: Simulation;
  readonly #actor: Actor;
  readonly #bucket: ModelBucket;
  /** The store's own machine: what it was asked for it does also when the caller has died. */
  readonly #store: Actor;
  readonly #random: Random;

  constructor(
    simulation: Simulation,
    parts: { actor: Actor; store: Actor; bucket: ModelBucket; random: Random },
  ) {
    this.#simulation = simulation;
    this.#actor = parts.actor;
    this.#store = parts.store;
    this.#bucket = parts.bucket;
    this.#random = parts.random;
  }

  create(key: string, object: NewObject, signal: AbortSignal): Promise<WriteAnswer | 'exists'> {
    const bytes = Buffer.from(object.bytes);
    return this.#call<WriteAnswer | 'exists'>(`create ${key}`, signal, (lies) => {
      if (this.#bucket.objects.has(key)) return 'exists';
      return this.#put(key, bytes, lies);
    });
  }

  replace(key: string, object: NewObject, signal: AbortSignal): Promise<WriteAnswer> {
    const bytes = Buffer.from(object.bytes);
    return this.#call(`replace ${key}`, signal, (lies) => this.#put(key, bytes, lies));
  }

  describe(key: string, signal: AbortSignal) {
    return this.#call(`describe ${key}`, signal, () => {
      const bytes = this.#bucket.objects.get(key);
      return bytes ? { bytes: bytes.length, sha256: sha256Of(bytes) } : null;
    });
  }

  read(key: string, maxBytes: number, signal: AbortSignal): Promise<Buffer | 'larger' | null> {
    return this.#call<Buffer | 'larger' | null>(`read ${key}`, signal, () => {
      const bytes = this.#bucket.objects.get(key) ?? null;
      return bytes && bytes.length > maxBytes ? 'larger' : bytes;
    });
  }

  hash(key: string, maxBytes: number, signal: AbortSignal): Promise<string | null> {
    return this.#call(`hash ${key}`, signal, () => {
      const bytes = this.#bucket.objects.get(key);
      return bytes && bytes.length <= maxBytes ? sha256Of(bytes) : null;
    });
  }

  async *list() {}

  remove(key: string, signal: AbortSignal): Promise<void> {
    return this.#call(`remove ${key}`, signal, () => void this.#bucket.objects.delete(key));
  }

  expiryRules = async () => [];
  close(): void {}

  #put(key: string, bytes: Buffer, lies: boolean): WriteAnswer {
    if (lies) return 'unconfirmed';
    this.#bucket.objects.set(key, bytes);
    return 'created';
  }

  #call<T>(what: string, signal: AbortSignal, effect: (lies: boolean) => T): Promise<T> {
    const { fault, latencyMs } = this.#bucket;
    const met = fault && this.#random.chance(fault.chance) ? fault.kind : undefined;
    const waiting = Promise.withResolvers<T>();
    const there = this.#random.next() * latencyMs * (met === 'late' ? 500 : 1);
    const back = this.#random.next() * latencyMs;
    const answer = (settle: () => void) => this.#simulation.after(back, this.#actor, settle);
    const arrive = () => {
      this.#simulation.trace.note('objects', met === undefined ? what : `${what}: ${met}`);
      if (met === 'hangs') return;
      if (met === 'unavailable' || met === 'refused' || met === 'object_refused') {
        if (met === 'unavailable' && this.#random.chance(0.3)) effect(false);
        answer(() => waiting.reject(new ObjectStoreFault(met, `simulated ${met}`)));
        return;
      }
      const result = effect(met === 'lies');
      if (met === undefined || met === 'lies') answer(() => waiting.resolve(result));
    };
    if (!signal.aborted && this.#actor.effect()) this.#simulation.after(there, this.#store, arrive);
    const silent = () => waiting.reject(new ObjectStoreFault('unavailable', 'simulated silence'));
    const silence = this.#simulation.after(SILENCE_MS, this.#actor, silent);
    const stop = () => waiting.reject(signal.reason);
    const forget = this.#simulation.onAbort(signal, stop);
    if (signal.aborted) stop();
    return waiting.promise.finally(() => {
      silence.cancel();
      forget();
    });
  }
}

const sha256Of = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
