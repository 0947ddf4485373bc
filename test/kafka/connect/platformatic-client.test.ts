import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { WatchedClient } from '../../../src/kafka/connect/platformatic-client.ts';

const CONNECTION = { brokers: ['kafka:9092'], tls: undefined, sasl: undefined, loopbackOnly: false };

it('what befell a connection explains what fails next, and nothing once the brokers have answered', async () => {
  const connections = new EventEmitter();
  const client = { connections, metadata: async () => ({}), close: async () => {} };
  const watched = new WatchedClient(client as never, CONNECTION);
  const made = new EventEmitter();
  connections.emit('connecting', { broker: { host: 'kafka', port: 9092 }, connection: made });
  made.emit('error', Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
  const failure = new Error('the request failed');
  expect(watched.explain(failure)).toMatchObject({ code: 'KAFKA_UNAVAILABLE' });
  await watched.metadata({});
  expect(watched.explain(failure)).toBe(failure);
});
