import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePorts } from '../../stack/plan-ports.ts';
import { until } from '../../support/until.ts';
import { FaultProxy } from './fault-proxy.ts';
import { RequestWatch, ResponseCutter } from './kafka-frames.ts';
import { ProduceFaults } from './produce-faults.ts';

const PRODUCE = 0;
const METADATA = 3;

/** A broker that answers each request with a frame that bears its correlation id. */
let stop: () => void;
let proxy: FaultProxy;
let client: Socket;
let answered: number[];
let asked: number[];

beforeEach(async () => {
  asked = [];
  answered = [];
  const broker = createServer((socket) => {
    const watch = new RequestWatch(({ correlationId }) => {
      asked.push(correlationId);
      socket.write(response(correlationId));
    });
    socket.on('data', (chunk) => watch.see(chunk)).on('error', () => {});
  });
  broker.listen(0, '127.0.0.1');
  await once(broker, 'listening');
  stop = () => broker.close();
  const [port = 0] = await freePorts(1);
  const target = () => (broker.address() as AddressInfo).port;
  proxy = new FaultProxy({ port, target, faults: new ProduceFaults(1, 'broker-1') });
  await proxy.listen();
  client = connect(port, '127.0.0.1');
  await once(client, 'connect');
  const cutter = new ResponseCutter();
  client
    .on('error', () => {})
    .on('data', (chunk) => {
      for (const frame of cutter.cut(chunk)) answered.push(frame.readInt32BE(4));
    });
});

afterEach(async () => {
  client.destroy();
  await proxy.close();
  stop();
});

function response(correlationId: number): Buffer {
  const frame = Buffer.alloc(8);
  frame.writeInt32BE(4, 0);
  frame.writeInt32BE(correlationId, 4);
  return frame;
}

function ask(apiKey: number, correlationId: number): void {
  const frame = Buffer.alloc(15);
  frame.writeInt32BE(11, 0);
  frame.writeInt16BE(apiKey, 4);
  frame.writeInt32BE(correlationId, 8);
  frame.writeInt16BE(1, 12);
  frame.write('c', 14);
  client.write(frame);
}

const answers = (...ids: number[]) =>
  until(`${ids} are answered`, () => JSON.stringify(answered) === JSON.stringify(ids));

describe('the proxy before a broker', () => {
  it('passes everything on in order while there is no fault', async () => {
    for (let id = 1; id <= 5; id++) ask(PRODUCE, id);
    await answers(1, 2, 3, 4, 5);
    expect(proxy.faults.counts.get('c')).toEqual({ requests: 5, hit: 0 });
  });

  it('swallows a Produce response and no other; the broker has done it', async () => {
    proxy.faults.set({ kind: 'swallow', percent: 100 });
    ask(METADATA, 1);
    ask(PRODUCE, 2);
    ask(METADATA, 3);
    await answers(1, 3);
    expect(asked).toEqual([1, 2, 3]);
  });

  it('breaks the connection instead of a Produce response; the broker has done it', async () => {
    proxy.faults.set({ kind: 'drop', percent: 100 });
    const closed = once(client, 'close');
    ask(PRODUCE, 1);
    await closed;
    expect([asked, answered]).toEqual([[1], []]);
  });

  it('holds a late response back, and all behind it', async () => {
    proxy.faults.set({ kind: 'delay', percent: 100, delayMs: 1_000 });
    ask(PRODUCE, 1);
    await until('the broker was asked', () => asked.length === 1);
    ask(METADATA, 2);
    await until('the broker was asked again', () => asked.length === 2);
    expect(answered).toEqual([]);
    await answers(1, 2);
  });

  it('passes on after a black hole, and over a slow network', async () => {
    proxy.setConditions({ blackhole: true });
    ask(METADATA, 1);
    proxy.heal();
    await answers(1);
    proxy.setConditions({ latencyMs: 20 });
    ask(METADATA, 2);
    await answers(1, 2);
  });

  it('cuts what there is, and takes new connections', async () => {
    const { remotePort = 0 } = client;
    const closed = once(client, 'close');
    proxy.cut();
    await closed;
    client = connect(remotePort, '127.0.0.1');
    const [first] = await Promise.all([
      once(client, 'data'),
      once(client, 'connect').then(() => ask(METADATA, 9)),
    ]);
    expect(first[0]).toEqual(response(9));
  });
});
