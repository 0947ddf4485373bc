import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import type { KafkaConnection } from '../../../src/kafka/connect/connection.ts';
import { WatchedClient } from '../../../src/kafka/connect/platformatic-client.ts';

const CONNECTION: KafkaConnection = {
  brokers: ['broker:9092'],
  tls: undefined,
  sasl: undefined,
  loopbackOnly: false,
};

/** A connection of the client, whose socket counts as open until it is destroyed. */
class FakeConnection extends EventEmitter {
  isOpen = true;
  readonly socket = { destroy: () => this.#close() };

  #close(): void {
    this.isOpen = false;
  }
}

/** A client whose list of connections is empty: it loses one when an older one to the same broker closes later. */
function watched() {
  const connections = Object.assign(new EventEmitter(), { [Symbol.iterator]: () => [].values() });
  const client = { connections, metadata: async () => {}, close: async () => {} };
  const made = [new FakeConnection(), new FakeConnection()] as const;
  const broker = { host: 'broker', port: 9092 };
  const own = new WatchedClient(client as never, CONNECTION);
  for (const connection of made) connections.emit('connecting', { broker, connection });
  return { own, made };
}

it('destroys every connection that was made, also one that the client has lost', () => {
  const { own, made } = watched();
  own.destroy();
  expect(made.map(({ isOpen }) => isOpen)).toEqual([false, false]);
});

it('destroys a connection with its first error', () => {
  const { made } = watched();
  made[0].emit('error', new Error('broken'));
  expect(made.map(({ isOpen }) => isOpen)).toEqual([false, true]);
});
