import { HooklineError } from '../../core/errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { TopicLimits } from '../admin/topic-limits.ts';
import { type AttemptError, type AttemptOutcome, remedyFor, toAttemptError } from './attempt-error.ts';
import { isWhole, type Pending, rejectAll, rejectLate, stillWanted, sum } from './pending.ts';
import type { ProducerSession } from './producer-session.ts';
import type { SessionPool } from './session-pool.ts';
import { Sharing, type Waves } from './sharing.ts';

export type PartitionQueueDeps = {
  readonly topic: string;
  readonly partition: number;
  readonly partitions: number;
  /** Gives the sessions for a batch: for all its attempts, or those that share their request. */
  readonly sessionsFor: (batch: { readonly isAlone: boolean }) => SessionPool;
  readonly limits: TopicLimits;
  readonly waves: Waves;
  readonly clock: Clock;
  readonly onAttempt: (outcome: AttemptOutcome | 'confirmed', why: string) => void;
  /** The topic has another number of partitions: the queue has stopped and keeps what it has. */
  readonly onReplan: () => void;
};

/** Below the usual max.message.bytes of 1 MiB, less what the broker counts and we do not. */
const MAX_BYTES = 900_000;
const MIN_BYTES = 16_384;
/** After a batch was too large: by then the topic may take such batches again. */
const SMALL_FOR_MS = 60_000;
const MAX_RECORDS = 1_000;
/** Retries of one kind that stay on the same client before a fresh one is tried. */
const SAME_CLIENT_RETRIES = 5;
/** 40, 80, 160, 320, 400, 400 … ms. */
const backoff = (attempt: number) => Math.min(20 * 2 ** attempt, 400);

type Attempt = {
  /** The first is 1. */
  readonly attempt: number;
  readonly isAlone: boolean;
  /** Over another session than the one before, which may not have heard what that has. */
  readonly isElsewhere: boolean;
};

/** Publishes to one partition: in order, one batch in flight, the identical batch again until it is confirmed. */
export class PartitionQueue {
  readonly #deps: PartitionQueueDeps;
  #queue: Pending[] = [];
  #inFlight: Pending[] = [];
  #running: Promise<void> | undefined;
  #halted = false;
  #maxBytes = MAX_BYTES;
  #smallUntil = Number.NEGATIVE_INFINITY;
  readonly #sharing: Sharing;

  constructor(deps: PartitionQueueDeps) {
    this.#deps = deps;
    this.#sharing = new Sharing(deps.waves, deps.clock);
  }

  push(record: Pending): void {
    this.#queue.push(record);
    if (!this.#halted) this.#running ??= this.#run();
  }

  isWaiting(): boolean {
    return this.#queue.length > 0 || this.#inFlight.some((record) => !record.settled);
  }

  /** Rejects what has passed its deadline, in flight or waiting: an attempt may well end later than its records' time. */
  expire(now: number): void {
    for (const record of this.#inFlight) if (record.deadline <= now) rejectLate(record);
    if (this.#queue.length === 0) return;
    const isLate = ({ deadline }: Pending) => deadline <= now;
    if (!this.#queue.some(isLate)) return;
    const late = this.#queue.filter(isLate);
    this.#queue = this.#queue.filter((record) => !isLate(record));
    for (const record of late) rejectLate(record);
  }

  /** Stops after the batch in flight and returns what is not confirmed, in order. */
  async halt(): Promise<Pending[]> {
    this.#halted = true;
    await this.#running;
    return this.#queue.splice(0);
  }

  async #run(): Promise<void> {
    // Those who publish at once share the first batch.
    await this.#deps.clock.tick();
    while (this.#queue.length > 0 && !this.#halted) {
      await this.#sharing.next();
      // Meanwhile all of them may have passed their deadline.
      if (this.#queue.length === 0 || this.#halted) continue;
      this.#inFlight = this.#takeBatch();
      await this.#deliver(this.#inFlight);
      this.#inFlight = [];
      // Those who wait for the confirmation may push before the next batch is taken, and so may all whose webhooks are in the
      // machine by then: batches become larger, and those of several partitions share a request.
      await this.#deps.clock.turn();
      await this.#deps.clock.tick();
    }
    // In the moment in which the queue was found empty: a record that is pushed in between would wait for the next one.
    this.#running = undefined;
  }

  #takeBatch(): Pending[] {
    if (this.#maxBytes < MAX_BYTES && this.#deps.clock.now() > this.#smallUntil) this.#maxBytes = MAX_BYTES;
    let count = 0;
    let bytes = 0;
    for (const record of this.#queue) {
      if (count > 0 && (count === MAX_RECORDS || bytes + record.bytes > this.#maxBytes)) break;
      bytes += record.bytes;
      count++;
    }
    return this.#queue.splice(0, count);
  }

  /**
   * Sends one batch until it is confirmed or refused. A record that was given up meanwhile is sent no more: an earlier
   * attempt may have written it, and its PUBLISH_DEADLINE says so. The others are sent on, in their order.
   */
  async #deliver(records: Pending[]): Promise<void> {
    if (await this.#exceedsLimit(records)) return this.#giveUp(records);
    let isAlone = !this.#sharing.allows(sum(records));
    let sessions = this.#deps.sessionsFor({ isAlone });
    let isElsewhere = false;
    for (let attempt = 1; ; attempt++) {
      const batch = stillWanted(records);
      if (batch.length === 0) return;
      const failure = await this.#attempt(batch, sessions, { attempt, isAlone, isElsewhere });
      if (failure === null) return;
      if (failure instanceof HooklineError) return rejectAll(batch, failure);
      if (failure.outcome === 'replan') return this.#stopForReplan(batch);
      if (failure.outcome === 'split') return this.#split(batch, failure);
      if (failure.outcome === 'refused') {
        const { topic } = this.#deps;
        const remedy = remedyFor(failure.message, topic);
        const options = { cause: failure, topic, ...(remedy !== undefined && { remedy }) };
        const refusal = new HooklineError('PUBLISH_REFUSED', failure.message, options);
        const inTime = batch.filter(({ deadline }) => Number.isFinite(deadline));
        rejectAll(inTime, refusal);
        // What waits the refusal out: it may have been for the time of a clock that was wrong, and is right by now.
        for (const record of batch) record.timestamp = BigInt(this.#deps.clock.wall());
      }
      // Whoever hears that a record's time is up may take back what is behind it, which must not be sent before that.
      if (failure.outcome === 'late') await this.#deps.clock.turn();
      else await this.#deps.clock.sleep(backoff(attempt));
      // What befell a shared request may have been another partition's doing: from now on by itself, and over a session of its own.
      isElsewhere = !isAlone;
      if (!isAlone) sessions = this.#deps.sessionsFor({ isAlone: true });
      isAlone = true;
    }
  }

  async #attempt(
    batch: Pending[],
    sessions: SessionPool,
    { attempt, isAlone, isElsewhere }: Attempt,
  ): Promise<AttemptError | HooklineError | null> {
    const { topic, partition, partitions, onAttempt } = this.#deps;
    const end = this.#sharing.begin({ records: batch.length, isAlone });
    try {
      // Asked again right before the write: opening a session and looking up the leader may take longer than a deadline.
      const mayBegin = () => isWhole(batch, this.#deps.clock.now());
      const send = (session: ProducerSession) =>
        session.send(
          { topic, partition, records: batch, bytes: sum(batch), isAlone, mayBegin },
          { partitions, looksUpAnew: isElsewhere },
        );
      const offset = await sessions.attempt(send, attempt % SAME_CLIENT_RETRIES === 0);
      onAttempt('confirmed', '');
      end(true);
      for (const [n, record] of batch.entries()) {
        if (!record.settled) record.confirm(partition, offset + BigInt(n));
      }
      return null;
    } catch (error) {
      if (error instanceof HooklineError) {
        end();
        return error;
      }
      const failure = toAttemptError(error);
      end(failure.outcome === 'unknown' ? false : undefined);
      if (failure.outcome === 'late') this.expire(this.#deps.clock.now());
      else onAttempt(failure.outcome, failure.message);
      return failure;
    }
  }

  #stopForReplan(batch: Pending[]): void {
    this.#halted = true;
    this.#queue.unshift(...batch.filter((record) => !record.settled));
    this.#deps.onReplan();
  }

  /** max.message.bytes counts a whole batch: a half may fit where the whole does not. The other half goes next. */
  async #split(batch: Pending[], failure: AttemptError): Promise<void> {
    if (batch.length === 1) return this.#giveUp(batch, failure);
    const half = Math.ceil(batch.length / 2);
    this.#smallUntil = this.#deps.clock.now() + SMALL_FOR_MS;
    this.#maxBytes = Math.max(MIN_BYTES, Math.min(this.#maxBytes, sum(batch) / 2));
    this.#queue.unshift(...batch.slice(half));
    await this.#deliver(batch.slice(0, half));
  }

  /**
   * Whether it is certain that no broker takes the record. A request above what a broker reads is never answered (it
   * cuts the connection), which would look like an unknown outcome until the record's deadline. Limits may have been raised since
   * they were read: they are asked for again before a record is given up by them.
   */
  async #exceedsLimit(batch: readonly Pending[]): Promise<boolean> {
    const { limits, topic } = this.#deps;
    const exceeds = () => batch.length === 1 && sum(batch) > limits.of(topic);
    if (!exceeds()) return false;
    await limits.renew();
    return exceeds();
  }

  #giveUp(batch: readonly Pending[], cause?: AttemptError): void {
    rejectAll(batch, new HooklineError('RECORD_TOO_LARGE', undefined, { cause, topic: this.#deps.topic }));
  }
}
