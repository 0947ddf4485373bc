import { type HooklineError, hasCode } from '../../core/errors.ts';
import type { OutgoingRecord } from '../../core/record.ts';
import type { Timer } from '../../runtime/clock.ts';
import type { SpooledDelivery } from '../../spool/spool-row.ts';
import { isForObjectStore, orderKey } from '../claim-check.ts';
import type { DeliveryPorts } from '../ports.ts';
import type { DrainPorts } from './drain-row.ts';
import { HANDOVER_MS } from './handover.ts';
import { type RefusingTopics, RowSkipped, type Turn } from './refusing-topics.ts';
import { waitingRow } from './waiting-key.ts';
import type { WaitingRows } from './waiting-rows.ts';

/**
 * After it a row whose object is not stored delays none but those of its key. Less than a handover takes, or that would end
 * before the rows that were begun last are known to be slow.
 */
const SLOW_OBJECT_MS = HANDOVER_MS / 2;

/** What the drain does when others wait for a row no longer. */
export type RowRelease = {
  /** Its topic takes no records: see {@link RefusingTopics.publish}. */
  readonly byTopic: () => void;
  /** Its object takes long. */
  readonly byObject: () => void;
};

/** Publishes the records of small rows; or leaves a row in the spool, where its topic or the object store does not take it. */
export class RowPublisher {
  readonly #ports: DrainPorts;
  readonly #topics: RefusingTopics;
  readonly #waiting: WaitingRows;
  /** Rows whose event its topic refused as too large, until they are stored. */
  readonly #tooLarge = new Map<number, HooklineError>();
  /** By key, rows that wait for their object, or for that of an earlier row, and are not known to take long. */
  readonly #unsent = new Map<string, Map<number, RowRelease>>();

  constructor(ports: DrainPorts, topics: RefusingTopics, waiting: WaitingRows) {
    this.#ports = ports;
    this.#topics = topics;
    this.#waiting = waiting;
  }

  publishOf(row: SpooledDelivery, release: RowRelease): DeliveryPorts['publish'] {
    const { delivery, clock } = this.#ports;
    const { id } = row;
    return (record, object) => {
      const order = orderKey(record);
      const isEvent = record.topic !== delivery.deadLetterTopic;
      // If its dead-letter record was not taken either, later ones of its key are stored by now: the topic may take it again.
      const refusal = isEvent && this.#tooLarge.get(id);
      if (refusal) return Promise.reject(refusal);
      const skip = () => {
        this.#waiting.add(waitingRow(row), order);
        return Promise.reject(new RowSkipped());
      };
      const send = (wanted: OutgoingRecord) => this.#send(wanted, id, isEvent);
      const sendUnlessHeld = (wanted: OutgoingRecord, turn?: Turn) => {
        if (this.#waiting.mustWait(id, order)) return skip();
        this.#waiting.noteSent(id);
        return this.#topics.publish(wanted, { id, release: release.byTopic, turn }, send);
      };
      const { claims } = delivery;
      if (!claims) return sendUnlessHeld(record);
      // Its object, which the store may take, would not be needed before it is its turn.
      if (this.#waiting.mustWait(id, order)) return skip();
      return this.#topics.inTurn(record, id, (turn) => {
        let isWaiting = true;
        let slow: Timer | undefined;
        const endWait = () => {
          isWaiting = false;
          slow?.cancel();
          this.#endWait(id, order);
        };
        const sendInTurn = (wanted: OutgoingRecord) => {
          endWait();
          return sendUnlessHeld(wanted, turn);
        };
        const position = claims.publish(record, object, sendInTurn, (error) => {
          endWait();
          if (!isForObjectStore(error)) return;
          this.#waiting.addRefused(waitingRow(row), order, error);
          this.#holdUnsent(order);
        });
        if (!isWaiting) return position;
        this.#unsent.set(order, (this.#unsent.get(order) ?? new Map()).set(id, release));
        slow = clock.after(SLOW_OBJECT_MS, () => this.#holdUnsent(order));
        return position;
      });
    };
  }

  stored(ids: readonly number[]): void {
    for (const id of ids) this.#tooLarge.delete(id);
  }

  /** Others go to Kafka meanwhile, and later ones of the key behind these. */
  #holdUnsent(order: string): void {
    const rows = this.#unsent.get(order);
    if (!rows) return;
    this.#unsent.delete(order);
    this.#waiting.addUnsent(
      [...rows.keys()],
      order,
      `the object store takes longer than ${SLOW_OBJECT_MS} ms`,
    );
    for (const release of rows.values()) release.byObject();
  }

  #endWait(id: number, order: string): void {
    const rows = this.#unsent.get(order);
    rows?.delete(id);
    if (rows?.size === 0) this.#unsent.delete(order);
  }

  #send(record: OutgoingRecord, id: number, isEvent: boolean) {
    return this.#ports.send(record).catch((error) => {
      if (isEvent && hasCode(error, 'RECORD_TOO_LARGE')) this.#tooLarge.set(id, error);
      throw error;
    });
  }
}
