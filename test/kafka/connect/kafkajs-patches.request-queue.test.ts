import '../../../src/kafka/connect/client-patches.ts';
import { createRequire } from 'node:module';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

type Queue = {
  push(request: object): void;
  fulfillRequest(response: object): void;
  maybeThrottle(ms: number): void;
};

const RequestQueue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue/index.js') as new (
  options: object,
) => Queue;

let queue: Queue;
let sent: number[];

beforeEach(() => {
  vi.useFakeTimers();
  sent = [];
  const logger = { debug() {}, warn() {} };
  queue = new RequestQueue({ requestTimeout: 5_000, enforceRequestTimeout: false, logger, broker: 'b' });
});

afterEach(() => vi.useRealTimers());

function push(correlationId: number): void {
  const entry = { correlationId, apiName: 'Fetch', apiKey: 1, apiVersion: 11, resolve() {}, reject() {} };
  queue.push({ entry, expectResponse: true, sendRequest: () => sent.push(correlationId) });
}

const answer = (correlationId: number) => queue.fulfillRequest({ correlationId, payload: null, size: 0 });

describe('a connection of kafkajs', () => {
  it('sets no timer when all that was asked is answered', () => {
    push(1);
    answer(1);
    expect(sent).toEqual([1]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('sends what waits once the broker throttles it no more, and then rests', () => {
    push(1);
    queue.maybeThrottle(500);
    answer(1);
    push(2);
    vi.advanceTimersByTime(400);
    expect(sent).toEqual([1]);
    vi.advanceTimersByTime(200);
    expect(sent).toEqual([1, 2]);
    answer(2);
    vi.advanceTimersByTime(100);
    expect(vi.getTimerCount()).toBe(0);
  });
});
