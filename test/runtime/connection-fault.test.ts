import { expect, it } from 'vitest';
import { connectionFaultOf } from '../../src/runtime/connection-fault.ts';

it.each([
  ['kafkajs, of a broker that accepts a connection and is silent', 'Broker not connected'],
  ['kafkajs, of several requests that wait for it', 'Timeout while acquiring lock (2 waiting locks)'],
  ['the client of the registry', 'Confluent_Schema_Registry - Error, status 400: Timeout (10000ms)'],
])('what does not answer is told from the words of %s', (_, words) => {
  expect(connectionFaultOf(new Error('outer', { cause: new Error(words) }))).toBe('no-answer');
});
