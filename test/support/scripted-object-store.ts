import { sha256Of } from '../../src/crypto/ids.ts';
import { BodyStore, type BodyStoreDeps, type WriteOutcome } from '../../src/object-store/body-store.ts';
import { type NewObject, type ObjectStore, ObjectStoreFault } from '../../src/object-store/object-store.ts';
import type { Clock } from '../../src/runtime/clock.ts';

/** What the store does with a call: nothing said means that it does it. */
export type Fate = 'unavailable' | 'refused' | 'hangs' | undefined;

/** An object store in memory, whose faults are scripted. */
export class ScriptedObjectStore implements ObjectStore {
  readonly objects = new Map<string, Buffer>();
  /** Every call, as `create key`. */
  readonly calls: string[] = [];
  /** Whether it tells the hashes of its objects. */
  hashes = true;
  fateOf: (call: string, n: number) => Fate | Promise<Fate> = () => undefined;

  async create(key: string, { bytes }: NewObject, signal: AbortSignal): Promise<'created' | 'exists'> {
    await this.#meet(`create ${key}`, signal);
    if (this.objects.has(key)) return 'exists';
    this.objects.set(key, Buffer.from(bytes));
    return 'created';
  }

  async describe(key: string, signal: AbortSignal) {
    await this.#meet(`describe ${key}`, signal);
    const bytes = this.objects.get(key);
    return bytes ? { bytes: bytes.length, sha256: this.hashes ? sha256Of(bytes) : undefined } : null;
  }

  async read(key: string, _: number, signal: AbortSignal): Promise<Buffer | null> {
    await this.#meet(`read ${key}`, signal);
    return this.objects.get(key) ?? null;
  }

  async *list(prefix: string) {
    for (const [key, bytes] of [...this.objects].sort())
      if (key.startsWith(prefix)) yield { key, bytes: bytes.length, modifiedAt: new Date(0) };
  }

  async remove(key: string): Promise<void> {
    this.objects.delete(key);
  }

  expiryRules = async () => [];
  close(): void {}

  async #meet(call: string, signal: AbortSignal): Promise<void> {
    this.calls.push(call);
    const fate = await this.fateOf(call, this.calls.length);
    if (fate === 'hangs')
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
    if (fate !== undefined) throw new ObjectStoreFault(fate as 'unavailable', `the script says ${fate}`);
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
    ...{ store, deadlineMs, clock, ...options },
    address: { bucket: 'events', prefix: 'hookline' },
    observer: {
      written: (outcome) => written.push(outcome),
      troubleChanged: (why) => troubles.push(why),
    },
  });
  return { store, bodies, written, troubles };
}
