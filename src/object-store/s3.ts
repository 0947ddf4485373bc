import { readFileSync } from 'node:fs';
import type { GetObjectCommandOutput, S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { certificatesIn, type RenewalObserver, renewedFrom } from '../config/renewed-files.ts';
import { connectionFaultOf, explainFault, type OtherSide } from '../runtime/connection-fault.ts';
import { askAgain } from './ask-again.ts';
import { expiryRules } from './lifecycle.ts';
import { type ObjectStore, ObjectStoreFault } from './object-store.ts';
import type { BodyStoreSettings } from './settings.ts';

type Sdk = typeof import('@aws-sdk/client-s3');

export type S3Options = Pick<BodyStoreSettings, 'endpoint' | 'region' | 'caFile' | 'sseKmsKeyId'> & {
  readonly bucket: string;
};

const CONNECT_MS = 3_000;
/** A connection on which nothing moves for so long is dead. */
const SILENCE_MS = 10_000;

/**
 * A bucket of S3 or of a compatible store. Credentials come from the SDK's default chain: environment, files, web identity,
 * container, instance. The SDK is loaded here: 40 MiB that nobody pays who has no object store.
 * @throws HooklineError CREDENTIALS_INVALID where BODY_STORE_CA_FILE cannot be used
 */
export async function openS3(options: S3Options, files: RenewalObserver): Promise<ObjectStore> {
  const sdk = await import('@aws-sdk/client-s3');
  const caFile =
    options.caFile === undefined ? [] : [{ variable: 'BODY_STORE_CA_FILE', path: options.caFile }];
  const current = renewedFrom({
    files: caFile,
    read: (path) => readFileSync(path),
    observer: files,
    make: (contents) =>
      createClient(
        sdk,
        options,
        contents.map((content, n) => certificatesIn(content, caFile[n]!)),
      ),
  });
  let client = current();
  /** The one for the next request; what is in progress over the one before comes to its end. */
  const next = () => {
    client = current();
    return client;
  };
  return storeOver(sdk, next, options);
}

function createClient(
  { S3Client }: Sdk,
  { endpoint, region }: S3Options,
  authorities: readonly Buffer[],
): S3Client {
  const agent = { keepAlive: true, ...(authorities.length > 0 && { ca: [...authorities] }) };
  const config: S3ClientConfig = {
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
      httpsAgent: agent,
    },
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true, region: region ?? 'us-east-1' }),
  };
  return new S3Client(config);
}

function storeOver(
  sdk: Sdk,
  client: () => S3Client,
  { bucket: Bucket, sseKmsKeyId, endpoint }: S3Options,
): ObjectStore {
  const ask = async <T>(request: (client: S3Client) => Promise<T>): Promise<T> => {
    try {
      return await request(client());
    } catch (error) {
      throw toFault(error, { bucket: Bucket, endpoint });
    }
  };
  return {
    create: (Key, { bytes, sha256, contentType }, abortSignal) =>
      ask(async (s3) => {
        const command = new sdk.PutObjectCommand({
          ...{ Bucket, Key, Body: bytes, ContentLength: bytes.length, ContentType: contentType },
          IfNoneMatch: '*',
          ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64'),
          // Of a store that does not tell its checksums, this is how a later write finds its own bytes again.
          Metadata: { sha256 },
          ...(sseKmsKeyId !== undefined && { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: sseKmsKeyId }),
        });
        command.middlewareStack.add(signedWith(sha256), { step: 'build', name: 'hooklinePayloadHash' });
        try {
          await s3.send(command, { abortSignal });
          return 'created';
        } catch (error) {
          if (statusOf(error) === 412) return 'exists';
          throw error;
        }
      }),
    describe: (Key, abortSignal) =>
      ask(async (s3) => {
        const command = new sdk.HeadObjectCommand({ Bucket, Key, ChecksumMode: 'ENABLED' });
        const found = await orNull(s3.send(command, { abortSignal }));
        if (!found) return null;
        const { ChecksumSHA256, ContentLength = 0, Metadata } = found;
        const hash = ChecksumSHA256
          ? Buffer.from(ChecksumSHA256, 'base64').toString('hex')
          : Metadata?.sha256;
        return { bytes: ContentLength, sha256: hash };
      }),
    read: (Key, maxBytes, abortSignal) =>
      ask(async (s3) => {
        const found = await orNull(s3.send(new sdk.GetObjectCommand({ Bucket, Key }), { abortSignal }));
        return found && readBounded(found, maxBytes);
      }),
    async *list(Prefix, abortSignal) {
      let ContinuationToken: string | undefined;
      do {
        const command = new sdk.ListObjectsV2Command({
          Bucket,
          Prefix,
          ...(ContinuationToken && { ContinuationToken }),
        });
        const page = await askAgain(
          (signal) => ask((s3) => s3.send(command, { abortSignal: signal })),
          abortSignal,
        );
        for (const { Key = '', Size = 0, LastModified = new Date(0) } of page.Contents ?? [])
          yield { key: Key, bytes: Size, modifiedAt: LastModified };
        ContinuationToken = page.NextContinuationToken;
      } while (ContinuationToken !== undefined);
    },
    remove: (Key, abortSignal) =>
      ask(async (s3) => void (await s3.send(new sdk.DeleteObjectCommand({ Bucket, Key }), { abortSignal }))),
    expiryRules: (abortSignal) =>
      ask(async (s3) => {
        const command = new sdk.GetBucketLifecycleConfigurationCommand({ Bucket });
        const found = await orNull(s3.send(command, { abortSignal }), 'NoSuchLifecycleConfiguration');
        return expiryRules(found?.Rules ?? []);
      }),
    close: () => client().destroy(),
  };
}

/** The signature covers the payload's hash, which is known: the SDK would work it out once more. */
const signedWith =
  (sha256: string) =>
  <A extends object, R>(next: (args: A) => Promise<R>) =>
  (args: A): Promise<R> => {
    const { request } = args as unknown as { request: { headers: Record<string, string> } };
    request.headers['x-amz-content-sha256'] = sha256;
    return next(args);
  };

async function readBounded({ Body }: GetObjectCommandOutput, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of (Body ?? []) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new ObjectStoreFault('refused', `the object has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

type SdkError = Error & { readonly $metadata?: { readonly httpStatusCode?: number }; readonly Code?: string };

const statusOf = (error: unknown): number | undefined => (error as SdkError).$metadata?.httpStatusCode;

/** Null where the answer is that there is no such thing. A bucket that is not there is another matter. */
async function orNull<T>(answer: Promise<T>, name = 'NoSuchKey'): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    const { name: is } = error as SdkError;
    if (is === name || (is === 'NotFound' && statusOf(error) === 404)) return null;
    throw error;
  }
}

const STORE: OtherSide = {
  name: 'the object store',
  address: 'BODY_STORE_ENDPOINT',
  ca: 'BODY_STORE_CA_FILE',
  useTls: 'write https in BODY_STORE_ENDPOINT',
  useNoTls: 'write http in BODY_STORE_ENDPOINT, or give the port that speaks TLS',
};

/** By the error's name: what an operator does about it. */
const REMEDIES: Readonly<Record<string, string>> = {
  NoSuchBucket: 'create the bucket, or correct BODY_STORE',
  AccessDenied: 'allow s3:PutObject and s3:GetObject on the prefix of BODY_STORE, and the use of its KMS key',
  InvalidAccessKeyId: 'correct the credentials',
  // As the Versity gateway says it.
  XAdminUserNotFound: 'correct the credentials',
  SignatureDoesNotMatch: 'correct the credentials, or BODY_STORE_REGION',
  ExpiredToken: 'renew the credentials',
  CredentialsProviderError:
    'give credentials by the environment, a file, web identity or the instance, as for every AWS SDK',
  NotImplemented: 'use an object store that supports If-None-Match and SHA-256 checksums',
  PermanentRedirect: 'set BODY_STORE_REGION to the region of the bucket',
  RequestTimeTooSkewed: 'correct the clock of this machine',
};

/** What a store says of itself goes into logs and answers of readiness: never more than this. */
const MAX_WHY = 300;

function toFault(
  error: unknown,
  { bucket, endpoint }: { bucket: string; endpoint: string | undefined },
): ObjectStoreFault {
  if (error instanceof ObjectStoreFault) return error;
  const { name, message } = error as SdkError;
  const status = statusOf(error);
  const at = endpoint === undefined ? `bucket ${bucket}` : `bucket ${bucket} at ${endpoint}`;
  if (status === undefined && name !== 'CredentialsProviderError') {
    const fault = connectionFaultOf(error);
    const { finding, remedy } = fault ? explainFault(fault, STORE) : { finding: message, remedy: undefined };
    return new ObjectStoreFault('unavailable', `${at}: ${finding.slice(0, MAX_WHY)}`, {
      cause: error,
      ...(remedy && { remedy }),
    });
  }
  const isTemporary =
    status === 409 || status === 429 || (status !== undefined && status >= 500 && status !== 501);
  const why = `${at} answered ${status ?? 'nothing'}: ${name}, ${message.slice(0, MAX_WHY)}`;
  const remedy = REMEDIES[name];
  return new ObjectStoreFault(
    isTemporary ? 'unavailable' : 'refused',
    status === undefined ? `${at}: ${message.slice(0, MAX_WHY)}` : why,
    { cause: error, ...(remedy && { remedy }) },
  );
}
