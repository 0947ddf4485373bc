/** A small sabotage of the production code: `find`, which stands once in the file, becomes `put`. */
export type Mutant = {
  readonly name: string;
  /** From src/. */
  readonly file: string;
  readonly find: string;
  readonly put: string;
};

const QUEUE = 'kafka/produce/partition-queue.ts';
const POOL = 'kafka/produce/session-pool.ts';
const TOPICS = 'kafka/produce/topic-queues.ts';
const PUBLISHER = 'kafka/produce/publisher.ts';
const ENCODE = 'kafka/produce/encode-batch.ts';

const PRODUCING: readonly Mutant[] = [
  {
    name: 'a batch is acknowledged before the brokers answer',
    file: QUEUE,
    find: 'const offset = await sessions.attempt(send, attempt % SAME_CLIENT_RETRIES === 0);',
    put: 'sessions.attempt(send, false).catch(() => {}); const offset = 0n;',
  },
  {
    name: 'a response that is lost counts as a confirmation, as kafkajs does it',
    file: QUEUE,
    find: 'const failure = toAttemptError(error);',
    put: "const failure = toAttemptError(error); if (failure.outcome === 'unknown') { for (const record of batch) if (!record.settled) record.confirm(partition, 0n); return null; }",
  },
  {
    name: 'a batch that the broker asked to send again is not sent again',
    file: QUEUE,
    find: "if (failure.outcome === 'replan') return this.#stopForReplan(batch);",
    put: "if (failure.outcome === 'replan') return this.#stopForReplan(batch); if (failure.outcome === 'retry') return;",
  },
  {
    name: 'the next batch does not wait for the one in flight',
    file: QUEUE,
    find: 'await this.#deliver(this.#inFlight);',
    put: 'void this.#deliver(this.#inFlight);',
  },
  {
    name: 'the second half of a split batch goes behind all others',
    file: QUEUE,
    find: 'this.#queue.unshift(...batch.slice(half));',
    put: 'this.#queue.push(...batch.slice(half));',
  },
  {
    name: 'the second half of a split batch is forgotten',
    file: QUEUE,
    find: 'this.#queue.unshift(...batch.slice(half));',
    put: '',
  },
  {
    name: 'a new plan drops the batch that found it',
    file: QUEUE,
    find: 'this.#queue.unshift(...batch.filter((record) => !record.settled));',
    put: '',
  },
  {
    name: 'the batch that finds a new plan goes behind the others',
    file: QUEUE,
    find: 'this.#queue.unshift(...batch.filter((record) => !record.settled));',
    put: 'this.#queue.push(...batch.filter((record) => !record.settled));',
  },
  {
    name: 'a record in flight has no deadline',
    file: QUEUE,
    find: "for (const record of this.#inFlight) if (record.deadline <= now) reject(record, 'PUBLISH_DEADLINE');",
    put: '',
  },
  {
    name: 'a single record that is too large is tried for ever',
    file: QUEUE,
    find: 'if (batch.length === 1) return this.#giveUp(batch, failure);',
    put: 'if (batch.length === 1) return this.#deliver(batch);',
  },
  {
    name: 'a new plan does not wait for batches in flight',
    file: TOPICS,
    find: 'const left = await queue.halt();',
    put: 'const left: Pending[] = []; void queue.halt();',
  },
  {
    name: 'what waited for a new plan goes behind what came since',
    file: TOPICS,
    find: 'this.#waiting = [...this.#left.splice(0), ...this.#waiting];',
    put: 'this.#waiting = [...this.#waiting, ...this.#left.splice(0)];',
  },
  {
    name: 'what a queue leaves late is lost',
    file: TOPICS,
    find: 'const left = await queue.halt();\n        this.#left = this.#left.concat(left);',
    put: 'this.#left = this.#left.concat(await queue.halt());',
  },
  {
    name: 'no time passes for what halted queues have left',
    file: TOPICS,
    find: 'this.#left = this.#left.filter(isWanted);',
    put: '',
  },
  {
    name: 'retired sessions are not destroyed',
    file: POOL,
    find: 'held.session.destroy();',
    put: '',
  },
  {
    name: 'a rejected record stays in the backlog',
    file: PUBLISHER,
    find: 'reject: (error) => {\n          settle();',
    put: 'reject: (error) => {\n          pending.settled = true;',
  },
  {
    name: 'a full backlog refuses rows of the spool',
    file: PUBLISHER,
    find: ' && Number.isFinite(deadlineMs)',
    put: '',
  },
  {
    name: 'what is spooled is still sent to the brokers',
    file: PUBLISHER,
    find: 'this.#expire(Number.MAX_VALUE);',
    put: '',
  },
  {
    name: 'rows that are drained are dropped with what is spooled, and come again each by itself',
    file: PUBLISHER,
    find: 'this.#expire(Number.MAX_VALUE);',
    put: 'this.#expire(Number.POSITIVE_INFINITY);',
  },
  {
    name: 'one replica is enough for an acknowledgement',
    file: ENCODE,
    find: 'export const ALL_REPLICAS = -1;',
    put: 'export const ALL_REPLICAS = 1;',
  },
  {
    name: 'all records of a batch have the value of the first',
    file: ENCODE,
    find: 'for (const [n, record] of records.entries())',
    put: 'for (const [n, record] of records.map((one) => ({ ...one, value: (records[0] as WireRecord).value?.length === one.value?.length ? (records[0] as WireRecord).value : one.value })).entries())',
  },
];

const PRODUCE = 'kafka/produce/produce-batch.ts';

const WRITING: readonly Mutant[] = [
  {
    name: 'a batch is written although the time of its records is over',
    file: QUEUE,
    find: 'const mayBegin = () => isWhole(batch, this.#deps.clock.now());',
    put: 'const mayBegin = () => true;',
  },
  {
    name: 'a lack of replicas counts as a record that is too large',
    file: PRODUCE,
    find: "NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'retry',",
    put: "NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'split',",
  },
];

const STORE = 'delivery/store/spooling-store.ts';
const DRAIN = 'delivery/store/drain-spool.ts';
const REFUSING = 'delivery/store/refusing-topics.ts';
const IN_FLIGHT = 'delivery/store/in-flight.ts';
const WORK = 'spool/spool-work.ts';

const SPOOLING: readonly Mutant[] = [
  {
    name: 'a delivery is acknowledged before it is in the spool',
    file: STORE,
    find: 'await this.#ports.spool.append(delivery);',
    put: 'void this.#ports.spool.append(delivery).catch(() => {});',
  },
  {
    name: 'only the delivery whose time is up goes to the spool',
    file: STORE,
    find: 'const entries = this.#inFlight.takeAll();',
    put: 'const entries = this.#inFlight.takeAll().slice(0, 1);',
  },
  {
    name: 'the youngest goes to the spool first',
    file: STORE,
    find: 'const entries = this.#inFlight.takeAll();',
    put: 'const entries = this.#inFlight.takeAll().toReversed();',
  },
  {
    name: 'Kafka is used again before the spool is empty',
    file: STORE,
    find: 'this.#ports.observer.spooling(why);',
    put: 'this.#ports.observer.spooling(why); this.#isSpooling = false;',
  },
  {
    name: 'later deliveries of a held key go to Kafka',
    file: STORE,
    find: 'if (this.#held.has(order) || this.#inFlight.isDeferring(order)) {',
    put: 'if (this.#inFlight.isDeferring(order)) {',
  },
  {
    name: 'a held key does not wait for those with the brokers',
    file: STORE,
    find: 'if (this.#inFlight.isSent(order)) return;',
    put: '',
  },
  {
    name: 'what an earlier process left in the spool is not drained first',
    file: STORE,
    find: "if (ports.spool.outstanding > 0) this.#startSpooling('an earlier process left deliveries in it');",
    put: '',
  },
  {
    name: 'rows that were skipped are removed',
    file: DRAIN,
    find: 'if (!isStored) this.#taken.delete(row.id);',
    put: 'if (!isStored) stored.push(row.id);',
  },
  {
    name: 'rows are drained the last first',
    file: DRAIN,
    find: 'const batch = Promise.all(rows.map((row) => this.#drainRow(row, stored)))',
    put: 'const batch = Promise.all(rows.toReversed().map((row) => this.#drainRow(row, stored)))',
  },
  {
    name: 'rows are removed before they are stored',
    file: DRAIN,
    find: 'this.#bytes += bytes;\n    const stored: number[] = [];',
    put: 'this.#bytes += bytes;\n    void this.#remove(rows.map(({ id }) => id)).catch(() => {});\n    const stored: number[] = [];',
  },
  {
    name: 'a row overtakes those that a stuck topic skipped',
    file: REFUSING,
    find: 'turn.isOvertaken ||= turn.id > id;',
    put: 'turn.isOvertaken ||= false;',
  },
  {
    name: 'a row waits for its object although an earlier one of its topic was skipped',
    file: REFUSING,
    find: "if (topic.state !== 'open') throw this.#skip(topic, order, id);",
    put: '',
  },
  {
    name: 'deferred deliveries are forgotten',
    file: IN_FLIGHT,
    find: 'return deferred.filter((entry) => this.take(entry));',
    put: 'return deferred.filter((entry) => this.take(entry)).slice(1);',
  },
  {
    name: 'a failed append is answered as if it were stored',
    file: WORK,
    find: 'return ns.map((n) => ({ n, fault }));',
    put: "return ns.map((n) => (fault.code === 'SPOOL_FAILING' ? { n, result: [] } : { n, fault }));",
  },
  {
    name: 'of a group that has no space only the first half is tried again',
    file: WORK,
    find: '...this.#appendGroup(group.slice(half))];',
    put: '...ns.slice(half).map((n) => ({ n, result: [] }))];',
  },
];

const CLAIM = 'delivery/claim-check.ts';
const BODIES = 'object-store/body-store.ts';

const OBJECTS_AND_BEFORE: readonly Mutant[] = [
  {
    name: 'a record is sent before its object is stored',
    file: CLAIM,
    find: 'if (await this.#write(object)) return record;',
    put: 'void this.#write(object).catch(() => {}); if (object) return record;',
  },
  {
    name: 'records do not wait for earlier objects of their key',
    file: CLAIM,
    find: 'await before;',
    put: '',
  },
  {
    name: 'a confirmation of the object store is believed whatever it says',
    file: BODIES,
    find: "if (answer === 'created') return 'created';",
    put: "if (answer !== 'exists') return 'created';",
  },
  {
    name: 'a write to the object store has no deadline',
    file: BODIES,
    find: 'const timer = clock.after(deadlineMs, () => deadline.abort());',
    put: 'const timer = clock.after(1e9, () => deadline.abort());',
  },
  {
    name: 'a wrong signature is accepted',
    file: 'crypto/signature.ts',
    find: 'if (timingSafeEqual(expected, given) && isWellFormed && isLive(key)) return key;',
    put: 'if (isWellFormed && isLive(key)) return key;',
  },
  {
    name: 'the event id of a sealed message is made of its ciphertext',
    file: 'delivery/read-event.ts',
    find: 'const eventId = eventIdOf(subscriptionId, message);\n  const encode',
    put: 'const eventId = eventIdOf(subscriptionId, opened.body);\n  const encode',
  },
];

export const MUTANTS: readonly Mutant[] = [...PRODUCING, ...WRITING, ...SPOOLING, ...OBJECTS_AND_BEFORE];
