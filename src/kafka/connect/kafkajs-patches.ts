/** Patches of kafkajs 2.2.4, applied when client-patches.ts is imported, which checks the version. */

import { createRequire } from 'node:module';
import type { Socket } from 'node:net';

const require = createRequire(import.meta.url);
const UNKNOWN_MEMBER_ID = 25;
const REBALANCE_IN_PROGRESS = 27;
const { createErrorFromCode } = require('kafkajs/src/protocol/error.js') as {
  createErrorFromCode(code: number): Error;
};
const { KafkaJSError } = require('kafkajs/src/errors.js') as { KafkaJSError: new (text: string) => Error };
export const prototypeIn = <T>(file: string): T =>
  (require(`kafkajs/src/${file}`) as { prototype: T }).prototype;

/**
 * After each answer it sets a timer for the requests of that connection that wait because the broker throttles it, also where
 * none wait and none is throttled; the time is then in the past, and the timer sets the next one: one every millisecond for
 * each connection, forever (kafkajs issues 1704 and 1751, open in 2.2.4). An idle ingress used a tenth of a core for nothing
 * else. A request that has to wait sets the timer itself.
 */
type RequestQueue = { readonly pending: readonly unknown[]; scheduleCheckPendingRequests(): void };

const queue = prototypeIn<RequestQueue>('network/requestQueue/index.js');
const schedule = queue.scheduleCheckPendingRequests;
queue.scheduleCheckPendingRequests = function (this: RequestQueue) {
  if (this.pending.length > 0) schedule.call(this);
};

/**
 * It commits to the broker that coordinated the group when it was joined last. Where another one coordinates it since, and the
 * member did not have to join again, each commit is refused, forever. Here the next one goes to the broker that coordinates
 * now.
 */
type OffsetManager = {
  readonly groupId: string;
  readonly cluster: { findGroupCoordinator(of: { readonly groupId: string }): Promise<unknown> };
  coordinator: unknown;
  commitOffsets(offsets?: object): Promise<void>;
};

const offsets = prototypeIn<OffsetManager>('consumer/offsetManager/index.js');
const commitOffsets = offsets.commitOffsets;
offsets.commitOffsets = async function (this: OffsetManager, given) {
  try {
    await commitOffsets.call(this, given);
  } catch (error) {
    const { groupId } = this;
    if ((error as { type?: string }).type === 'NOT_COORDINATOR_FOR_GROUP')
      this.coordinator = await this.cluster.findGroupCoordinator({ groupId });
    throw error;
  }
};

/**
 * A commit that fails is tried again for seconds, by then perhaps as a member of a later generation, behind
 * newer commits and for partitions that are another's: it sets them back. While the member joins, a commit is taken for done
 * without being sent. Here each commit is tried once, as what the member is then, and fails where it is none: its caller tries
 * again, with what is done by then.
 */
type Runner = {
  readonly running: boolean;
  fetch(nodeId: number): Promise<unknown>;
  readonly consumerGroup: { commitOffsets(offsets: object): Promise<void> };
  commitOffsets(offsets: object): Promise<void>;
};

const runner = prototypeIn<Runner>('consumer/runner.js');
runner.commitOffsets = async function (this: Runner, given) {
  if (!this.running) throw createErrorFromCode(REBALANCE_IN_PROGRESS);
  await this.consumerGroup.commitOffsets(given);
};

/**
 * Where the set of brokers changes at the moment in which the consumer stops, or ends to start again, it begins to fetch once
 * more, and nobody stops that: each fetch returns at once, the next one follows, and the thread does nothing else ever again. Here
 * the fetch fails, which ends it.
 */
const fetch = runner.fetch;
runner.fetch = async function (this: Runner, nodeId) {
  if (!this.running) throw new KafkaJSError('the consumer has stopped');
  return fetch.call(this, nodeId);
};

/**
 * Two requests that find a connection closed at the same time make two of it. The first one is forgotten, and stays open when the
 * client is closed. Here the second request waits for the first one's.
 *
 * One that is given up before it is made counts as connected when it is made all the same, later than another attempt has failed: its
 * requests go nowhere from then on. Here it is not made any more.
 *
 * It also hears nothing of a socket that this process destroys, as those that a consumer leaves open when it has ended: it looks for
 * requests without an answer ten times a second from then on, for each of them, forever. Here it is told.
 *
 * What is closed it closes again each time that a consumer starts anew while its broker is unavailable: `unref` leaves a listener each time,
 * and Node warns of a leak.
 */
type Connection = {
  readonly socket: Socket | null;
  connect(): Promise<boolean>;
  isConnected(): boolean;
  /** Of a login that is under way. */
  readonly authHandlers: { onError(): void } | null;
  rejectRequests(error: Error): void;
  disconnect(): Promise<boolean>;
};

const connection = prototypeIn<Connection>('network/connection.js');
const connect = connection.connect;
const connecting = new WeakMap<Connection, Promise<boolean>>();
const watched = new WeakSet<Socket>();
connection.connect = function (this: Connection) {
  const before = connecting.get(this);
  if (before) return before;
  const made = connect.call(this).finally(() => connecting.delete(this));
  connecting.set(this, made);
  const { socket } = this;
  if (!socket || watched.has(socket)) return made;
  watched.add(socket);
  made.catch(() => socket.destroy());
  socket.once('close', () => {
    socket.unref = () => socket;
    if (this.socket !== socket || !this.isConnected()) return;
    if (this.authHandlers) this.authHandlers.onError();
    else this.rejectRequests(new KafkaJSError('the connection was cut'));
    void this.disconnect();
  });
  return made;
};

/**
 * Where the group no longer knows a member, it joins again without an id. If the connection breaks meanwhile it fetches on
 * without being a member, and sends no heartbeat that would tell it so: it never has partitions again. Here that heartbeat
 * fails, and it joins again.
 *
 * Where it has joined, and what it is given is not answered but by an error, it goes on with what it had, as a member of two
 * generations: its heartbeats are those of the new one, and all its commits are refused, forever. Here it joins again too.
 *
 * It also measures by the clock that may be set back. When that happens it sends no heartbeat for as long as the clock was
 * set back, so that the group goes on without it; it keeps its metadata for so long; and it takes an answer for younger than
 * it is.
 */
type ConsumerGroup = {
  instrumentationEmitter: { emit(event: string, payload?: unknown): void };
  readonly memberId: string | null;
  readonly generationId: number | null;
  readonly offsetManager: { readonly generationId: number } | null;
  lastRequest: number;
  heartbeat(options: { interval: number }): Promise<void>;
  joinAndSync(): Promise<void>;
  leave(): Promise<void>;
};

const group = prototypeIn<ConsumerGroup>('consumer/consumerGroup.js');
const heartbeat = group.heartbeat;
group.heartbeat = async function (this: ConsumerGroup, options) {
  await joining.get(this);
  if (!this.memberId) throw createErrorFromCode(UNKNOWN_MEMBER_ID);
  const { offsetManager } = this;
  if (offsetManager && offsetManager.generationId !== this.generationId)
    throw createErrorFromCode(REBALANCE_IN_PROGRESS);
  if (this.lastRequest > Date.now()) this.lastRequest = 0;
  await heartbeat.call(this, options);
};

/**
 * Before it starts again it leaves the group, and says so when it has left: others may have its partitions by then. Here it says so
 * before (the event STOP, which comes again behind it); and also before it says that it has joined, where there was a generation between in
 * which it did not learn who was given them.
 */
const leave = group.leave;
group.leave = function (this: ConsumerGroup) {
  this.instrumentationEmitter.emit('consumer.stop');
  return leave.call(this);
};

/**
 * Each broker that no longer leads what it led, and each that leads a new partition, makes it join again. Several do so at the same
 * time: each request then begins a generation that the others miss. Here they share one, which heartbeats wait for.
 */
const joinAndSync = group.joinAndSync;
const joining = new WeakMap<ConsumerGroup, Promise<void>>();
group.joinAndSync = function (this: ConsumerGroup) {
  const underWay = joining.get(this);
  if (underWay) return underWay;
  const emitter = this.instrumentationEmitter;
  const before = this.offsetManager?.generationId;
  // One that does not lead the group, and says what it said before, is told of the same generation.
  const hasMissed = () => before !== undefined && ![before, before + 1].includes(Number(this.generationId));
  this.instrumentationEmitter = {
    emit(event, payload) {
      if (event === 'consumer.group_join' && hasMissed()) emitter.emit('consumer.stop');
      emitter.emit(event, payload);
    },
  };
  const joined = joinAndSync.call(this).finally(() => {
    this.instrumentationEmitter = emitter;
    joining.delete(this);
  });
  joining.set(this, joined);
  return joined;
};

type BrokerPool = {
  readonly metadataMaxAge: number;
  metadataExpireAt: number | null;
  refreshMetadataIfNecessary(topics: readonly string[]): Promise<void>;
};

const pool = prototypeIn<BrokerPool>('cluster/brokerPool.js');
const refreshMetadata = pool.refreshMetadataIfNecessary;
pool.refreshMetadataIfNecessary = function (this: BrokerPool, topics) {
  if ((this.metadataExpireAt ?? 0) - Date.now() > this.metadataMaxAge) this.metadataExpireAt = null;
  return refreshMetadata.call(this, topics);
};

/** By the clock that only grows, when each request was sent. */
const sent = new WeakMap<object, number>();

// Its readers subtract it from the present time of the other clock.
Object.defineProperty(prototypeIn('network/requestQueue/socketRequest.js'), 'sentAt', {
  configurable: true,
  get(this: object): number | null {
    const at = sent.get(this);
    return at === undefined ? null : Date.now() - (performance.now() - at);
  },
  set(this: object, at: number | null) {
    if (at === null) sent.delete(this);
    else sent.set(this, performance.now());
  },
});
