import { LARGE_BODY_BYTES } from '../../core/delivery.ts';
import { Room } from './byte-semaphore.ts';
import { type OpenBody, PROVEN } from './open-body.ts';

/**
 * The memory that bodies hold while they are not verified: charged as they arrive, for what has arrived. Half of it is
 * had without asking, so that nobody waits behind what was only announced. Who needs more when that half is taken waits
 * until all that may still come has room in the other half: so those that are begun there also come to their end.
 */
export class ArrivingMemory {
  readonly room: Room;
  #n = 0;

  /** At least what one of the largest small bodies needs, twice. */
  constructor(bytes: number, maxBodyBytes = LARGE_BODY_BYTES) {
    this.room = new Room(Math.max(bytes, 2 * Math.min(LARGE_BODY_BYTES, maxBodyBytes)));
  }

  /** Charges a body for bytes that have arrived. False: it has to wait, with `reserve`. */
  charge(body: OpenBody, bytes: number): boolean {
    if (body.reserved >= bytes) {
      body.reserved -= bytes;
      return true;
    }
    const { room } = this;
    if (room.taken + bytes > room.capacity / 2 || !room.tryEnter(bytes)) return false;
    body.charged += bytes;
    return true;
  }

  /** Charges a body that goes on to wait elsewhere, whether there is room or not. */
  add(body: OpenBody, bytes: number): void {
    if (this.charge(body, bytes)) return;
    this.room.add(bytes);
    body.charged += bytes;
  }

  /**
   * Waits for all that the body may still need, proven ones first.
   * @throws HooklineError NO_ROOM, and the reason of `gone`
   */
  async reserve(body: OpenBody, bytes: number, waitMs: number, gone: AbortSignal): Promise<void> {
    const place = { tag: body.class === PROVEN ? 0 : 1, n: this.#n++ };
    await this.room.enter(bytes, waitMs, gone, { place, class: body.class });
    body.charged += bytes;
    body.reserved += bytes;
  }

  /** Gives back all that the body holds. */
  leave(body: OpenBody): void {
    if (body.charged > 0) this.room.leave(body.charged);
    body.charged = 0;
    body.reserved = 0;
  }
}
