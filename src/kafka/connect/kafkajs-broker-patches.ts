/** Patches of kafkajs 2.2.4 of what it asks brokers, applied when client-patches.ts is imported. */

import { createRequire } from 'node:module';
import { connectionFaultOf } from '../../runtime/connection-fault.ts';
import { prototypeIn } from './kafkajs-patches.ts';

const require = createRequire(import.meta.url);

/**
 * It asks one broker after the other which of them coordinates a group, and forgets why none has told it: none of them does, then. Here it
 * says so where this user has no right to the group, and where a broker cannot be reached or does not answer in time.
 */
type BrokerPool = { withBroker<T>(ask: (broker: unknown) => Promise<T>): Promise<T | null> };

const pool = prototypeIn<BrokerPool>('cluster/brokerPool.js');
const withBroker = pool.withBroker;
pool.withBroker = async function <T>(this: BrokerPool, ask: (broker: unknown) => Promise<T>) {
  let why: unknown;
  const answer = await withBroker.call(this, (broker) =>
    ask(broker).catch((error) => {
      // Whoever grants that is helped, whichever broker was asked last.
      if (error.type === 'GROUP_AUTHORIZATION_FAILED') why = error;
      else if (connectionFaultOf(error)) why ??= error;
      throw error;
    }),
  );
  if (answer === null && why !== undefined) throw why;
  return answer as T | null;
};

/**
 * Asked for all topics, a broker also tells of partitions that have no leader. It takes that for a failure, whose topics they are: while
 * a broker is down that alone had another team's topic, nothing of what is there would be known. Here the answer counts.
 */
type Broker = {
  lookupRequest(key: number, versions: object): (of: object) => Request;
  metadata(topics?: readonly string[]): Promise<unknown>;
};
type Request = { readonly request: object; readonly response: object };

const broker = prototypeIn<Broker>('broker/index.js');
const metadata = broker.metadata;
broker.metadata = function (this: Broker, topics = []) {
  if (topics.length > 0) return metadata.call(this, topics);
  const lookupRequest: Broker['lookupRequest'] = (...api) => {
    const make = this.lookupRequest(...api);
    return (of) => {
      const { request, response } = make(of);
      return { request, response: { ...response, parse: async (answer: unknown) => answer } };
    };
  };
  return metadata.call(Object.assign(Object.create(this), { lookupRequest }), topics);
};

type Protocol = (of: { readonly version: string }) => (fields: object) => object;

/** The rebalance timeout of control's group, and 5 s for the network, as JoinGroup has. */
const SYNC_GROUP_MS = 65_000;

const syncGroup = require('kafkajs/src/protocol/requests/syncGroup/index.js') as { protocol: Protocol };
const { protocol } = syncGroup;
/**
 * It gives up a SyncGroup after the usual time of a request, which is below that of a session. Where the group's leader is gone (a process
 * that was stopped while it joined), the brokers answer when its session ends. By then it has joined once more, as another member, and the
 * one before, which nobody speaks for, can be the next leader: no process of the group worked for a minute and longer. Here it waits
 * as long as for JoinGroup.
 */
syncGroup.protocol = (of) => (fields) => ({ ...protocol(of)(fields), requestTimeout: SYNC_GROUP_MS });
