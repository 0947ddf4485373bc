import { pipeline, Readable, Transform } from 'node:stream';
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { isLoopback } from '../config/plaintext-credentials.ts';
import { httpsAgent } from '../runtime/tunnel.ts';
import type { AwsFileSettings } from './aws-files.ts';
import { ObjectStoreFault } from './object-store.ts';
import type { BodyStoreSettings } from './settings.ts';

export type Sdk = typeof import('@aws-sdk/client-s3');

export type S3Options = Pick<
  BodyStoreSettings,
  'endpoint' | 'region' | 'caFile' | 'sseKmsKeyId' | 'allowPlaintextCredentials' | 'proxy' | 'noProxy'
> &
  AwsFileSettings & { readonly bucket: string };

const CONNECT_MS = 3_000;
/** Less, so that the silence of a proxy is told as such. */
const TUNNEL_MS = 2_800;
/** A connection on which nothing moves for so long is dead. */
const SILENCE_MS = 10_000;
/** Messages in memory are limited, not writes: one that waited for a connection of another would fail after CONNECT_MS. */
const MAX_SOCKETS = Number.POSITIVE_INFINITY;

/** A client of S3 that tries once, reads no endless answer, and sends nothing without TLS that it may not. */
export function createClient(
  { S3Client }: Sdk,
  { endpoint, region, allowPlaintextCredentials, proxy, noProxy }: S3Options,
  authorities: readonly Buffer[],
): S3Client {
  const agent = {
    keepAlive: true,
    maxSockets: MAX_SOCKETS,
    ...(authorities.length > 0 && { ca: [...authorities] }),
  };
  const config: S3ClientConfig & { ignoreCache: boolean } = {
    // For the default chain: a new client reads AWS's files, not what the SDK has kept of them. See openS3.
    ignoreCache: true,
    // One try: repeats have one deadline for all of them, see BodyStore.
    maxAttempts: 1,
    // The SHA-256 that is sent with each object is checksum enough.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    followRegionRedirects: false,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
      httpAgent: agent,
      httpsAgent: httpsAgent(agent, { proxy, noProxy, connectMs: TUNNEL_MS }),
    },
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true, region: region ?? 'us-east-1' }),
  };
  const client = new S3Client(config);
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const result = await next(args);
        const response = result.response as { statusCode: number; body?: unknown };
        const isObject = commandName === 'GetObjectCommand' && response.statusCode < 300;
        const limit = LONG_ANSWERS.has(commandName ?? '') ? MAX_LONG_ANSWER_BYTES : MAX_ANSWER_BYTES;
        if (response.body instanceof Readable && !isObject) response.body = bounded(response.body, limit);
        return result;
      },
    { step: 'deserialize', priority: 'low', name: 'hooklineBoundedAnswer' },
  );
  // The variables were checked; AWS's own files may have an address, too.
  const refusePlaintext = !allowPlaintextCredentials;
  client.middlewareStack.add(
    (next) => (args) => {
      const { protocol, hostname } = args.request as { protocol: string; hostname: string };
      if (refusePlaintext && protocol === 'http:' && !isLoopback(hostname)) throw plaintextTo(hostname);
      return next(args);
    },
    { step: 'finalizeRequest', priority: 'high', name: 'hooklinePlaintext' },
  );
  return client;
}

const plaintextTo = (host: string) =>
  new ObjectStoreFault('refused', `signed requests and messages would be sent to ${host} without TLS`, {
    remedy:
      "give an https address in endpoint_url of AWS's files, or set ALLOW_PLAINTEXT_CREDENTIALS to true where nobody else can read that network",
  });

/**
 * Bytes of an answer that is no object: why something is refused, mostly. The SDK reads it whole and parses it at once: of 8 MiB
 * the thread that takes webhooks could do nothing else for a second or more, at every write.
 */
const MAX_ANSWER_BYTES = 256 * 1024;

/** Those of tools alone; a page of a list has two megabytes at most. */
const LONG_ANSWERS: ReadonlySet<string> = new Set([
  'ListObjectsV2Command',
  'GetBucketLifecycleConfigurationCommand',
]);
const MAX_LONG_ANSWER_BYTES = 8 * 1024 * 1024;

function bounded(body: Readable, maxBytes: number): Readable {
  let bytes = 0;
  const limit = new Transform({
    transform(chunk: Buffer, _, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) done(new Error(`the answer has more than ${maxBytes} bytes`));
      else done(null, chunk);
    },
  });
  // Its error is that of the request, which reads from it.
  return pipeline(body, limit, () => {});
}
