import type { LargeBodyPublisher, Receipt, VerifiedDelivery } from '../../core/delivery.ts';
import { HooklineError, hasCode } from '../../core/errors.ts';
import type { Spool } from '../../spool/spool.ts';
import { type ClaimCheck, isForObjectStore } from '../claim-check.ts';

/** The failures that mean: Kafka is unavailable, too slow, or takes no records. */
export const isUnavailable = (error: unknown): boolean =>
  hasCode(error, 'PUBLISH_DEADLINE', 'PUBLISH_BACKLOG_FULL', 'PUBLISH_REFUSED');

/** What large deliveries share with small ones. */
export type SpoolUse = {
  readonly spool: Pick<Spool, 'append'>;
  readonly claims: ClaimCheck | undefined;
  readonly publishDeadlineMs: number;
  /** Whether all deliveries go to the spool. */
  isSpooling(): boolean;
  /** Whether deliveries of some keys do, because of the object store. */
  isHolding(): boolean;
  /** Whether those of this key do; see {@link orderKey}. */
  isHeld(order: string): boolean;
  /** Deliveries of this key go to the spool from now on. */
  hold(order: string, why: string): void;
  /** All do. */
  startSpooling(why: string): void;
};

/**
 * A large one takes its own way to Kafka, and so its own turn to the spool: it waits behind no small one and none waits
 * behind it. An entity's order holds all the same for those whose answers were waited for.
 */
export async function storeLarge(
  delivery: VerifiedDelivery,
  large: LargeBodyPublisher,
  use: SpoolUse,
): Promise<Receipt> {
  // Its key is known only when it is opened, which takes its time: not where it goes to the spool anyway.
  const isHeld =
    use.isHolding() &&
    !use.isSpooling() &&
    !use.claims?.refusal &&
    use.isHeld((await large.identify(delivery)).order);
  const deadlineMs = () => {
    const refusal = use.claims?.refusal;
    if (refusal) throw refusal;
    if (use.isSpooling() || isHeld) throw new HooklineError('PUBLISH_DEADLINE', 'the spool is in use');
    return use.publishDeadlineMs;
  };
  let unavailable: Error;
  try {
    return await large.store(delivery, deadlineMs);
  } catch (error) {
    if (!isUnavailable(error) && !isForObjectStore(error)) throw error;
    unavailable = error as Error;
  }
  const { eventId, order } = await large.identify(delivery);
  // In the place of a body that is worked on: on its way to the disk it is copied more than once.
  await large.aside(() => {
    const appended = use.spool.append(delivery);
    // It is in the spool's count by now: the drain that begins here, or is under way, will find it.
    if (isForObjectStore(unavailable) || isHeld) use.hold(order, unavailable.message);
    else if (!use.isSpooling()) use.startSpooling(unavailable.message);
    return appended;
  });
  return { eventId, stored: 'spool' };
}
