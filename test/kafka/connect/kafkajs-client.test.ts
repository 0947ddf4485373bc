import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import kafkajs from 'kafkajs';
import { expect, it } from 'vitest';
import { createKafkajs } from '../../../src/kafka/connect/kafkajs-client.ts';
import { openKafka } from '../../../src/kafka/open-kafka.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { kafkaSettingsWith } from '../../support/connection-settings.ts';
import { hasIpv6, NEEDS_IPV6 } from '../../support/ip-families.ts';

it('an error that a consumer tells by an event can be explained as those of its methods are', () => {
  const connection = { brokers: ['broker:9092'], tls: undefined, sasl: undefined, loopbackOnly: false };
  const consumer = createKafkajs(connection, 'test', () => {}).consumer({ groupId: 'g' });
  const error = new Error('Connection error: unable to verify the first certificate');
  expect(consumer.explain?.(error)).toMatchObject({
    code: 'KAFKA_UNAVAILABLE',
    message: expect.stringContaining('KAFKA_CA_FILE'),
    cause: error,
  });
  const other = new Error('something else');
  expect(consumer.explain?.(other)).toBe(other);
});

it.skipIf(!hasIpv6)(
  `both clients connect to an IPv6 address of KAFKA_BROKERS, and name it${NEEDS_IPV6}`,
  async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.destroy();
    }).listen(0, '::1');
    await once(server, 'listening');
    const broker = `[::1]:${(server.address() as AddressInfo).port}`;
    const { client, openSession } = openKafka({
      settings: kafkaSettingsWith({ brokers: [broker] }),
      files: { renewed() {}, unusable() {} },
      clock: systemClock,
      clientId: 'test',
      log: () => {},
    });
    const session = openSession(0);
    const asAdmin = () => client.admin({ retry: { retries: 0 } }).connect();
    await expect(session.partitionsOf('t')).rejects.toThrow();
    const ofOneClient = connections;
    await expect(asAdmin()).rejects.toThrow();
    expect([ofOneClient > 0, connections > ofOneClient]).toEqual([true, true]);
    await once(server.close(), 'close');
    const nobody = expect.stringContaining(`${broker}: nobody listens there`);
    await expect(session.partitionsOf('t')).rejects.toMatchObject({ message: nobody });
    await expect(asAdmin()).rejects.toMatchObject({ message: nobody });
    session.destroy();
  },
);

it.each([
  ['gzip', kafkajs.CompressionTypes.GZIP, gzipSync],
  ['zstd', kafkajs.CompressionTypes.ZSTD, zstdCompressSync],
] as const)('unpacks 64 MiB of a batch at most: %s', async (_, type, pack) => {
  createKafkajs({ brokers: ['127.0.0.1:1'] } as never, 'test', () => {});
  const { decompress } = kafkajs.CompressionCodecs[type]();
  const most = 64 * 1024 * 1024;
  const unpacked = async (bytes: number) => (await decompress(pack(Buffer.alloc(bytes)))).length;
  expect(await unpacked(most)).toBe(most);
  await expect(unpacked(most + 1)).rejects.toThrow(/larger than/);
});
