import type { Mutant } from './mutant.ts';

const QUEUE = 'kafka/produce/partition-queue.ts';
const POOL = 'kafka/produce/session-pool.ts';
const TOPICS = 'kafka/produce/topic-queues.ts';
const PUBLISHER = 'kafka/produce/publisher.ts';
const ENCODE = 'kafka/produce/encode-batch.ts';

export const PRODUCING: readonly Mutant[] = [
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
    find: 'for (const record of this.#inFlight) if (record.deadline <= now) rejectLate(record);',
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
const JUDGEMENT = 'kafka/produce/attempt-error.ts';

export const WRITING: readonly Mutant[] = [
  {
    name: 'a batch is written although the time of its records is over',
    file: QUEUE,
    find: 'const mayBegin = () => isWhole(batch, this.#deps.clock.now());',
    put: 'const mayBegin = () => true;',
  },
  {
    name: 'a lack of replicas counts as a record that is too large',
    file: JUDGEMENT,
    find: "NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'retry',",
    put: "NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'split',",
  },
  {
    name: 'a request that is confirmed for one of its partitions is confirmed for all',
    file: PRODUCE,
    find: 'const place = isWhole ? known.get(placeOf(topic, partition)) : undefined;',
    put: 'const place = [...known.values()].find(({ errorCode }) => errorCode === 0) ?? known.get(placeOf(topic, partition));',
  },
  {
    name: 'of batches that share a request the first is sent, and all are confirmed',
    file: PRODUCE,
    find: 'const batches = begun.map(({ batch }) => batch);',
    put: 'const batches = begun.map(({ batch }) => batch).slice(0, 1); for (const { resolve } of begun.slice(1)) resolve(0n);',
  },
];
