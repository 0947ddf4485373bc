import { type HooklineError, hasCode } from '../../core/errors.ts';
import type { OutgoingRecord } from '../../core/record.ts';
import type { SpooledDelivery } from '../../spool/spool-row.ts';
import { isForObjectStore, orderKey } from '../claim-check.ts';
import type { DeliveryPorts } from '../ports.ts';
import type { DrainPorts } from './drain-row.ts';
import { type RefusingTopics, RowSkipped, type Turn } from './refusing-topics.ts';
import { type WaitingRows, waitingRow } from './waiting-rows.ts';

/** Publishes the records of small rows; or leaves a row in the spool, where its topic or the object store does not take it. */
export class RowPublisher {
  readonly #ports: DrainPorts;
  readonly #topics: RefusingTopics;
  readonly #waiting: WaitingRows;
  /** Rows whose event its topic refused as too large, until they are stored. */
  readonly #tooLarge = new Map<number, HooklineError>();

  constructor(ports: DrainPorts, topics: RefusingTopics, waiting: WaitingRows) {
    this.#ports = ports;
    this.#topics = topics;
    this.#waiting = waiting;
  }

  /** @param release see {@link RefusingTopics.publish} */
  publishOf(row: SpooledDelivery, release: () => void): DeliveryPorts['publish'] {
    const { delivery } = this.#ports;
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
      const sendUnlessHeld = (wanted: OutgoingRecord, turn?: Turn) =>
        this.#waiting.mustWait(id, order)
          ? skip()
          : this.#topics.publish(wanted, { id, release, turn }, send);
      const { claims } = delivery;
      if (!claims) return sendUnlessHeld(record);
      // Its object, which the store may take, would not be needed before it is its turn.
      if (this.#waiting.mustWait(id, order)) return skip();
      const refused = (error: unknown) => {
        if (isForObjectStore(error)) this.#waiting.addRefused(waitingRow(row), order, error);
      };
      return this.#topics.inTurn(record, id, (turn) =>
        claims.publish(record, object, (wanted) => sendUnlessHeld(wanted, turn), refused),
      );
    };
  }

  stored(ids: readonly number[]): void {
    for (const id of ids) this.#tooLarge.delete(id);
  }

  #send(record: OutgoingRecord, id: number, isEvent: boolean) {
    return this.#ports.send(record).catch((error) => {
      if (isEvent && hasCode(error, 'RECORD_TOO_LARGE')) this.#tooLarge.set(id, error);
      throw error;
    });
  }
}
