import './client-patches.ts';
import { connect as connectPlain, isIP, Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { promisify } from 'node:util';
import { gunzip, gzip, zstdDecompress } from 'node:zlib';
import { compressionsAlgorithms } from '@platformatic/kafka';
import kafkajs from 'kafkajs';
import { withColons, withoutColons } from './broker-address.ts';
import { type KafkaConnection, refusalOf } from './connection.ts';
import { explaining, explainRefusal } from './explain-refusal.ts';
import { bearerMessage, refusalIn, type Sasl, type SaslToken, TokenRefusedError } from './sasl.ts';

/**
 * Where the client's own words go. It calls an error what it then retries: what matters comes out of it as a rejected
 * promise or a crash, so that its messages are for debugging. It logs no records and no credentials.
 */
export type ClientLog = (message: string, fields: object) => void;

/** The client that consumes and administers. */
export type KafkaClient = Pick<kafkajs.Kafka, 'admin'> & {
  consumer(config: kafkajs.ConsumerConfig): kafkajs.Consumer & {
    /** Cuts the connections that are left when it has ended, or should have. */
    cut?(): void;
    /** Names the remedy of an error that it tells by an event: those of its methods are explained already. */
    explain?(error: Error): Error;
  };
};

/**
 * A session with a broker that is nearer to its end than this is renewed before the next request. Sessions that are
 * shorter it would renew without end.
 */
const REAUTHENTICATE_BEFORE_MS = 3_000;

/** Retries of one request inside the client: 0.1, 0.2, 0.4, 0.8, 1 s; what takes longer is judged by its caller. */
const RETRY = { initialRetryTime: 100, factor: 0, multiplier: 2, maxRetryTime: 1_000, retries: 5 };

/**
 * kafkajs, which consumes and administers here and never produces. Times are set, because by default a broker that
 * hangs hangs the client; retries too, because NODE_ENV would change them.
 */
export function createKafkajs(connection: KafkaConnection, clientId: string, log: ClientLog): KafkaClient {
  // Only gzip is built in: a batch of another codec, which any producer may choose, would end the consumer for good.
  // Registering twice changes nothing.
  const { GZIP, Snappy, LZ4, ZSTD } = kafkajs.CompressionTypes;
  const { snappy, lz4, zstd } = compressionsAlgorithms;
  kafkajs.CompressionCodecs[Snappy] = codecOf(snappy);
  kafkajs.CompressionCodecs[LZ4] = codecOf(lz4);
  kafkajs.CompressionCodecs[ZSTD] = () => ({ ...codecOf(zstd)(), decompress: unzstd });
  kafkajs.CompressionCodecs[GZIP] = () => ({ compress: zipped, decompress: unzip });
  const settings = {
    clientId,
    brokers: connection.brokers.map(withoutColons),
    ssl: connection.tls !== undefined,
    ...(connection.sasl && { sasl: toSasl(connection.sasl) }),
    reauthenticationThreshold: REAUTHENTICATE_BEFORE_MS,
    connectionTimeout: 2_000,
    authenticationTimeout: 5_000,
    requestTimeout: 5_000,
    enforceRequestTimeout: true,
    retry: RETRY,
    logLevel: kafkajs.logLevel.INFO,
    logCreator: () => (entry: kafkajs.LogEntry) => log(entry.log.message, { namespace: entry.namespace }),
  } satisfies Omit<kafkajs.KafkaConfig, 'socketFactory'>;
  const clientOver = (socketFactory: kafkajs.ISocketFactory) =>
    new kafkajs.Kafka({ ...settings, socketFactory });
  const sockets = createSockets(connection);
  const explain = (error: unknown, neverAnswered: boolean) =>
    explainRefusal(error, connection, { neverAnswered });
  return {
    admin: (config) => explaining(clientOver(sockets).admin(config), explain),
    consumer(config) {
      const open = new Set<Socket>();
      const consumer = clientOver(watched(sockets, open)).consumer(config);
      const cut = () => {
        for (const socket of open) socket.destroy();
      };
      // Which answers it has had, an event does not tell.
      const explainEvent = (error: Error) => explain(error, false) as Error;
      return explaining({ ...consumer, cut, explain: explainEvent }, explain);
    },
  };
}

type Codec = Pick<(typeof compressionsAlgorithms)['zstd'], 'compressSync' | 'decompressSync'>;

/** A codec of the other client as kafkajs wants it. */
const codecOf =
  ({ compressSync, decompressSync }: Codec) =>
  () => ({
    compress: async (encoder: { buffer: Buffer }) => compressSync(encoder.buffer),
    decompress: async (buffer: Buffer) => decompressSync(buffer),
  });

/**
 * Bytes that a batch unpacks to at most: beyond, it is one that cannot be unpacked. Producers make batches of a megabyte or less, and one of
 * 0.7 MB unpacked to 700, which no pod of control has.
 */
const UNPACKING = { maxOutputLength: 64 * 1024 * 1024 };
const unzip = (packed: Buffer) => promisify<Buffer, object, Buffer>(gunzip)(packed, UNPACKING);
const unzstd = (packed: Buffer) => promisify<Buffer, object, Buffer>(zstdDecompress)(packed, UNPACKING);
const zipped = ({ buffer }: { buffer: Buffer }) => promisify<Buffer, Buffer>(gzip)(buffer);

/** Keeps the sockets that are open in `open`. */
const watched =
  (sockets: kafkajs.ISocketFactory, open: Set<Socket>): kafkajs.ISocketFactory =>
  (options) => {
    const socket = sockets(options);
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    return socket;
  };

/** It reads these with each authentication: the password, or the token, is asked for then. */
function toSasl(sasl: Sasl): kafkajs.SASLOptions | kafkajs.Mechanism {
  if (sasl.mechanism === 'OAUTHBEARER')
    return { mechanism: 'oauthbearer', authenticationProvider: bearerAuthenticator(sasl) };
  const { mechanism, username, password } = sasl;
  const credentials = {
    username,
    get password() {
      return password();
    },
  };
  switch (mechanism) {
    case 'PLAIN':
      return Object.assign(credentials, { mechanism: 'plain' as const });
    case 'SCRAM-SHA-256':
      return Object.assign(credentials, { mechanism: 'scram-sha-256' as const });
    case 'SCRAM-SHA-512':
      return Object.assign(credentials, { mechanism: 'scram-sha-512' as const });
  }
}

/** Kafka's `bytes`: four bytes of length before them. */
const LENGTH_BYTES = 4;

/** Its own takes any answer for a consent; a refused token would look like a connection that closes without a word. */
const bearerAuthenticator =
  ({ tokens, extensions }: SaslToken): kafkajs.Mechanism['authenticationProvider'] =>
  ({ saslAuthenticate }) => ({
    async authenticate() {
      const token = await tokens.get();
      const message = bearerMessage(token, extensions);
      const refusal = await saslAuthenticate<string | undefined>({
        request: {
          encode() {
            const bytes = Buffer.allocUnsafe(LENGTH_BYTES + message.length);
            bytes.writeInt32BE(message.length);
            message.copy(bytes, LENGTH_BYTES);
            return bytes;
          },
        },
        response: {
          decode: (answer: Buffer) => answer.subarray(LENGTH_BYTES),
          parse: refusalIn,
        },
      });
      if (refusal === undefined) return;
      tokens.reject(token);
      throw new TokenRefusedError(refusal);
    },
  });

const KEEP_ALIVE_MS = 60_000;

/**
 * How kafkajs makes its connections: with certificates as their files are at that moment. Without TLS, a TLS
 * alert is recognised here: kafkajs would read it as the length of an answer, and only report that the connection is closed.
 */
function createSockets(connection: KafkaConnection): kafkajs.ISocketFactory {
  const { tls } = connection;
  return ({ host: given, port, onConnect }) => {
    const host = withColons(given);
    const refusal = refusalOf(connection, host);
    // The client listens for errors of the socket once it has it: this one comes a tick later.
    if (refusal) return new Socket().destroy(refusal);
    const socket = tls
      ? connectTls(
          { host, port, secureContext: tls().context, ...(isIP(host) === 0 && { servername: host }) },
          onConnect,
        )
      : connectPlain({ host, port }, onConnect);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    if (!tls) refuseTls(socket);
    return socket;
  };
}

function refuseTls(socket: Socket): void {
  socket.once('data', (chunk) => {
    const isAlert = chunk[0] === 0x15 && chunk[1] === 0x03;
    if (isAlert) socket.destroy(Object.assign(new Error('TLS is spoken there'), { code: 'SPEAKS_TLS' }));
  });
}
