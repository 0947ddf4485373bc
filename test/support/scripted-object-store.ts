import { sha256Of } from '../../src/crypto/ids.ts';
import { BodyStore, type BodyStoreDeps, type WriteOutcome } from '../../src/object-store/body-store.ts';
import {
  type NewObject,
  type ObjectStore,
  ObjectStoreFault,
  type WriteAnswer,
} from '../../src/object-store/object-store.ts';
import type { Clock } from '../../src/runtime/clock.ts';

/** What the store does with a call: nothing said means that it does it. One that lies confirms what it does not do. */
export type Fate = ObjectStoreFault['kind'] | 'hangs' | 'lies' | undefined;

/** An object store in memory, whose faults are scripted. */
export class ScriptedObjectStore implements ObjectStore {
  readonly objects = new Map<string, Buffer>();
  /** Every call, as `create key`. */
  readonly calls: string[] = [];
  /** Whether it tells the hashes of its objects. */
  hashes = true;
  /** Of objects that must be restored before they can be read: the storage class, by the key. */
  readonly archives = new Map<string, string>();
  fateOf: (call: string, n: number, bytes: Buffer | undefined) => Fate | Promise<Fate> = () => undefined;

  async create(key: string, object: NewObject, signal: AbortSignal): Promise<WriteAnswer | 'exists'> {
    const fate = await this.#meet(`create ${key}`, signal, object.bytes);
    return this.objects.has(key) ? 'exists' : this.#put(key, object, fate);
  }

  async replace(key: string, object: NewObject, signal: AbortSignal): Promise<WriteAnswer> {
    return this.#put(key, object, await this.#meet(`replace ${key}`, signal));
  }

  async describe(key: string, signal: AbortSignal) {
    await this.#meet(`describe ${key}`, signal);
    const bytes = this.objects.get(key);
    return bytes ? { bytes: bytes.length, sha256: this.hashes ? sha256Of(bytes) : undefined } : null;
  }

  async read(key: string, maxBytes: number, signal: AbortSignal): Promise<Buffer | 'larger' | null> {
    await this.#meet(`read ${key}`, signal);
    if (this.archives.has(key)) {
      const cause = Object.assign(new Error('the script says archived'), { name: 'InvalidObjectState' });
      throw new ObjectStoreFault('object_refused', cause.message, { cause });
    }
    const bytes = this.objects.get(key) ?? null;
    return bytes && bytes.length > maxBytes ? 'larger' : bytes;
  }

  async hash(key: string, maxBytes: number, signal: AbortSignal): Promise<string | null> {
    await this.#meet(`hash ${key}`, signal);
    const bytes = this.objects.get(key);
    return bytes && bytes.length <= maxBytes ? sha256Of(bytes) : null;
  }

  async *list(prefix: string) {
    for (const [key, bytes] of [...this.objects].sort())
      if (key.startsWith(prefix)) {
        const archive = this.archives.get(key);
        yield { key, bytes: bytes.length, modifiedAt: new Date(0), ...(archive && { archive }) };
      }
  }

  async remove(key: string): Promise<void> {
    this.objects.delete(key);
  }

  expiryRules = async () => [];
  close(): void {}

  #put(key: string, { bytes }: NewObject, fate: Fate): WriteAnswer {
    if (fate === 'lies') return 'unconfirmed';
    this.objects.set(key, Buffer.from(bytes));
    return 'created';
  }

  async #meet(call: string, signal: AbortSignal, bytes?: Buffer): Promise<Fate> {
    this.calls.push(call);
    const fate = await this.fateOf(call, this.calls.length, bytes);
    if (fate === 'hangs')
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
    if (fate !== undefined && fate !== 'lies' && fate !== 'hangs')
      throw new ObjectStoreFault(fate, `the script says ${fate}`);
    return fate;
  }
}

/** A body store over it, and what it reports. */
export function scriptedBodies(
  clock: Clock,
  deadlineMs = 15_000,
  options: Pick<BodyStoreDeps, 'attempts' | 'isGuarded'> = {},
) {
  const store = new ScriptedObjectStore();
  const written: WriteOutcome[] = [];
  const troubles: (string | null)[] = [];
  const bodies = new BodyStore({
    store,
    deadlineMs,
    clock,
    ...options,
    address: { bucket: 'events', prefix: 'hookline' },
    observer: {
      written: (outcome) => written.push(outcome),
      troubleChanged: (why) => troubles.push(why),
    },
  });
  return { store, bodies, written, troubles };
}
