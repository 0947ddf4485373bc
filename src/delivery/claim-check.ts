import { HooklineError, hasCode } from '../core/errors.ts';
import type { OutgoingObject, OutgoingRecord, Position } from '../core/record.ts';
import type { BodyStore } from '../object-store/body-store.ts';

/** A record, and what must be in the object store before it is published. */
export type ReferringRecord = { readonly record: OutgoingRecord; readonly object: OutgoingObject };

/** What goes to the object store before a record. */
export type RecordObject = OutgoingObject & {
  /** The same under another name, for the case that other bytes have this one. */
  readonly renamed?: () => ReferringRecord;
};

type Send = (record: OutgoingRecord) => Promise<Position>;

/** Keeps large messages and bodies out of records: they go to the object store, and the record refers to them. */
export class ClaimCheck {
  /** CLAIM_CHECK_BYTES, on the wire: a larger record refers to its message. */
  readonly maxRecordBytes: number;
  readonly #bodies: BodyStore;
  /** By key, the latest record that waits for its object, or behind one that does. */
  readonly #writing = new Map<string, Promise<void>>();

  readonly #datedBy: (receivedAt: number) => number;

  /** @param datedBy the date in an object's address, in milliseconds since 1970, unless it is that of the receipt */
  constructor(
    bodies: BodyStore,
    maxRecordBytes: number,
    datedBy: (receivedAt: number) => number = (receivedAt) => receivedAt,
  ) {
    this.#bodies = bodies;
    this.maxRecordBytes = maxRecordBytes;
    this.#datedBy = datedBy;
  }

  /** The address of an object; see {@link BodyStore.uriOf}. */
  uriOf(at: { readonly topic: string; readonly receivedAt: number; readonly name: string }): string {
    return this.#bodies.uriOf({ ...at, receivedAt: this.#datedBy(at.receivedAt) });
  }

  /** Why the store takes nothing, or null. */
  get trouble(): string | null {
    return this.#bodies.trouble;
  }

  /** Why the store would not even be tried now, or null. */
  get refusal(): HooklineError | null {
    return this.#bodies.refusal;
  }

  /** A store in trouble has taken a check: only a message shows whether it takes messages again. */
  get isMessageAwaited(): boolean {
    return this.#bodies.isMessageAwaited;
  }

  /** Checks a store that is in trouble, if it is time for that. */
  probe(): void {
    if (this.trouble !== null && !this.isMessageAwaited && this.refusal === null)
      this.#bodies.check().catch(() => {});
  }

  /** A write of another thread, which has a client of its own, has ended. */
  noteWrite: BodyStore['noteWrite'] = (...write) => this.#bodies.noteWrite(...write);

  /**
   * Sends the record when the store has its object. Records of a key are sent in the order of the calls: one without an
   * object waits for the objects of those before it. Objects are written at once, also those of one key: so none waits
   * longer than the deadline of its own write, or of one that began before.
   * @param notStored called where the store does not take the object, before the next record of the key is sent
   * @throws HooklineError BODY_STORE_UNAVAILABLE, BODY_STORE_REFUSED: the record was not sent; and what `send` throws
   */
  publish(
    record: OutgoingRecord,
    object: RecordObject | undefined,
    send: Send,
    notStored: (error: unknown) => void = () => {},
  ): Promise<Position> {
    if (object === undefined && this.#writing.size === 0) return send(record);
    const key = orderKey(record);
    const before = this.#writing.get(key);
    if (object === undefined && before === undefined) return send(record);
    const stored = object === undefined ? Promise.resolve(record) : this.#store(record, object);
    // Its failure is handled when it is its turn.
    stored.catch(() => {});
    const inTurn = async () => {
      await before;
      const wanted = await stored.catch((error) => {
        notStored(error);
        throw error;
      });
      // In an object, as the next record of the key waits until this one is sent, not until it is confirmed.
      return { position: send(wanted) };
    };
    const begun = inTurn();
    const settled = begun.then(
      ({ position }) => void position.catch(() => {}),
      () => {},
    );
    this.#writing.set(key, settled);
    void settled.then(() => {
      if (this.#writing.get(key) === settled) this.#writing.delete(key);
    });
    return begun.then(({ position }) => position);
  }

  /** The record to send: another one where the object has got another name. */
  async #store(record: OutgoingRecord, object: RecordObject): Promise<OutgoingRecord> {
    if (await this.#write(object)) return record;
    const other = object.renamed?.();
    if (other && (await this.#write(other.object))) return other.record;
    const { uri } = other?.object ?? object;
    throw new HooklineError('BODY_STORE_REFUSED', `other bytes have the name ${uri}`);
  }

  /** False where other bytes have the object's name. */
  async #write(object: OutgoingObject): Promise<boolean> {
    try {
      await this.#bodies.write(object);
      return true;
    } catch (error) {
      if (hasCode(error, 'OBJECT_TAKEN')) return false;
      throw error;
    }
  }
}

/** Whether the object store is why a delivery could not be published. */
export const isForObjectStore = (error: unknown): error is HooklineError =>
  hasCode(error, 'BODY_STORE_UNAVAILABLE', 'BODY_STORE_REFUSED');

/** Publishes records by `send`, their objects first. */
export const objectFirst =
  (claims: ClaimCheck | undefined, send: Send) =>
  (record: OutgoingRecord, object?: RecordObject): Promise<Position> =>
    claims ? claims.publish(record, object, send) : send(record);

/** The same for all records whose order counts. */
export const orderKey = ({ topic, key }: Pick<OutgoingRecord, 'topic' | 'key'>): string =>
  `${topic} ${key.toString('latin1')}`;
