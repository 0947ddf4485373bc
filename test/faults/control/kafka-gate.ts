import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { correlationIdOf, ResponseCutter } from '../proxy/kafka-frames.ts';
import type { Gate } from './gate.ts';

/** Requests that are points of a command's flow. https://kafka.apache.org/protocol, "API Keys" */
const APIS: Readonly<Record<number, string>> = { 0: 'Produce', 2: 'ListOffsets', 8: 'OffsetCommit' };
const FETCH = 1;

/** The only way of the process under test to the broker. Passes whole frames on, each through the gate. */
export async function openKafkaGate(parts: {
  readonly port: number;
  readonly target: () => number;
  readonly gate: Gate;
  /** Topics by full name whose requests count. */
  readonly topics: () => readonly string[];
  /** What is in the record of the command under test: its arrival is a point. */
  readonly mark: () => string;
}) {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const broker = connect({ port: parts.target(), host: '127.0.0.1', noDelay: true });
    for (const socket of [client, broker]) {
      sockets.add(socket);
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(socket);
          client.destroy();
          broker.destroy();
        });
    }
    passFrames({ client, broker, ...parts });
  });
  server.listen(parts.port, '127.0.0.1');
  await once(server, 'listening');
  return {
    /** Brings the broker what was kept back, whatever has become of its sender, and waits until it has answered. */
    async land(): Promise<void> {
      for (const frame of parts.gate.kept.splice(0)) {
        const broker = connect({ port: parts.target(), host: '127.0.0.1' });
        broker.write(frame);
        await once(broker, 'data');
        broker.destroy();
      }
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

type Passing = Parameters<typeof openKafkaGate>[0] & { client: Socket; broker: Socket };

function passFrames({ client, broker, gate, topics, mark }: Passing): void {
  const open = new Map<number, { name: string; nth: number }>();
  const requests = new ResponseCutter();
  const answers = new ResponseCutter();
  client.on('data', (chunk) => {
    for (const frame of requests.cut(chunk)) {
      const name = nameOf(frame, topics());
      const nth = name === null ? null : gate.before(name);
      if (gate.isShut) return void client.destroy();
      if (name !== null && nth !== null && gate.keeps(name, nth, frame)) continue;
      if (name !== null && nth !== null) open.set(frame.readInt32BE(8), { name, nth });
      if (frame.readInt16BE(4) === FETCH) open.set(frame.readInt32BE(8), { name: 'Fetch', nth: 0 });
      broker.write(frame);
    }
  });
  broker.on('data', (chunk) => {
    for (const frame of answers.cut(chunk)) {
      const asked = open.get(correlationIdOf(frame));
      open.delete(correlationIdOf(frame));
      if (asked?.name === 'Fetch') {
        if (mark() !== '' && frame.includes(mark()) && frame.includes(COMMANDS_KEY))
          gate.before('Fetch of the command');
      } else if (asked) gate.after(asked.name, asked.nth);
      if (gate.isShut) return void client.destroy();
      client.write(frame);
    }
  });
}

/** Stands in a command as JSON, and not in its result, which is Avro. */
const COMMANDS_KEY = '"commandId"';

function nameOf(frame: Buffer, topics: readonly string[]): string | null {
  const api = APIS[frame.readInt16BE(4)];
  if (api === undefined) return null;
  const topic = topics.find((one) => frame.includes(one));
  if (api === 'Produce' && frame.includes('#epoch')) return 'Produce claim';
  const name = `${api} ${topic?.slice(topic.indexOf('.') + 1)}`;
  // How far commands are behind is asked for by the metric alone, whenever it pleases.
  return topic === undefined || name === 'ListOffsets commands' ? null : name;
}
