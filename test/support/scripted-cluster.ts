import type { TopicLimits } from '../../src/kafka/admin/topic-limits.ts';
import { AttemptError } from '../../src/kafka/produce/attempt-error.ts';
import type { Batch, WireRecord } from '../../src/kafka/produce/encode-batch.ts';
import type { ProducerSession } from '../../src/kafka/produce/producer-session.ts';
import { Publisher } from '../../src/kafka/produce/publisher.ts';
import { type Clock, systemClock } from '../../src/runtime/clock.ts';

type Send = { session: number; topic: string; partition: number; values: string[]; isAlone: boolean };
/** What a send meets: an error, or `swallow` (written, and never answered), or nothing (written and confirmed). */
export type Fate = AttemptError | 'swallow' | undefined;

/** The system's, its sleep by the global timers, which a test may have faked. */
const fakedClock: Clock = {
  ...systemClock,
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** A cluster as the publisher's port sees it: topics that keep what they are sent, and a script of fates. */
export class ScriptedCluster {
  partitions = 4;
  readonly log = new Map<string, string[]>();
  readonly sends: Send[] = [];
  readonly destroyed: number[] = [];
  readonly batches: (readonly WireRecord[])[] = [];
  opened = 0;
  fateOf: (send: Send, n: number) => Fate | Promise<Fate> = () => undefined;
  /** Why the topic's partitions are not told; undefined: they are. */
  cannotCount: AttemptError | undefined;
  /** What a session says that has not asked the brokers lately; undefined: it has. */
  remembered: number | undefined;
  /** Of sessions that were asked for the partitions, in that order. */
  readonly asked: number[] = [];
  /** Of sessions that were told to connect, in that order. */
  readonly connected: number[] = [];
  /** Whether this session can't connect. */
  isCutOff: (session: number) => boolean = () => false;
  /** Connecting takes until this is resolved. */
  connecting: Promise<void> = Promise.resolve();
  /** Looking up a partition's leader takes until this is resolved. */
  lookingUp: Promise<void> | undefined;
  /** Asking for the partitions takes until this is resolved. */
  counting: Promise<void> = Promise.resolve();

  open = (): ProducerSession => {
    const session = this.opened++;
    return {
      partitionsOf: async () => {
        this.asked.push(session);
        await this.counting;
        if (this.cannotCount) throw this.cannotCount;
        return this.remembered ?? this.partitions;
      },
      connect: async () => {
        if (this.isCutOff(session)) throw new AttemptError('unknown', 'cut off');
        await this.connecting;
        this.connected.push(session);
      },
      send: (batch, { partitions }) => this.#send(session, batch, partitions),
      destroy: () => void this.destroyed.push(session),
    };
  };

  publisher(backlogBytes = 1e9, limits?: TopicLimits, sessions = 1): Publisher {
    const observer = { attempt() {}, confirmed() {}, sessionOpened() {}, troubleChanged() {} };
    const deps = { openSession: this.open, sessions, backlogBytes, observer, clock: fakedClock };
    return new Publisher({ ...deps, ...(limits && { limits }) });
  }

  /** Everything that a partition holds, in order. */
  values = (topic: string, partition: number) => this.log.get(`${topic}-${partition}`) ?? [];

  async #send(session: number, batch: Batch, partitions: number) {
    const { topic, partition, records, isAlone, mayBegin } = batch;
    if (this.lookingUp) await this.lookingUp;
    if (!mayBegin()) throw new AttemptError('late', 'late');
    if (partitions !== this.partitions) throw new AttemptError('replan', `${this.partitions}`);
    const values = records.map((record) => String(record.value));
    const send = { session, topic, partition, values, isAlone };
    this.sends.push(send);
    this.batches.push(records);
    const fate = await this.fateOf(send, this.sends.length);
    if (fate instanceof AttemptError) throw fate;
    const kept = this.log.get(`${topic}-${partition}`) ?? [];
    const offset = BigInt(kept.length);
    this.log.set(`${topic}-${partition}`, [...kept, ...values]);
    if (fate === 'swallow') await new Promise(() => {});
    return offset;
  }
}

export const outgoing = (key: string, value: string, topic = 't') => ({
  topic,
  key: Buffer.from(key),
  value: Buffer.from(value),
  headers: new Map<Buffer, Buffer>(),
});
