import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import type { GetObjectCommandOutput, S3Client } from '@aws-sdk/client-s3';
import { certificatesIn, type RenewalObserver, renewedFrom } from '../config/renewed-files.ts';
import { startSha256 } from '../crypto/ids.ts';
import { askAgain } from './ask-again.ts';
import { awsFileReader, awsFilesOf } from './aws-files.ts';
import { archiveOf, expiryRules } from './lifecycle.ts';
import { type NewObject, type ObjectStore, ObjectStoreFault, type WriteAnswer } from './object-store.ts';
import { createClient, type S3Options, type Sdk } from './s3-client.ts';
import { checkRegion, orNull, statusOf, toFault } from './s3-faults.ts';

/** The 32 bytes of a SHA-256. */
const SHA256_BASE64 = /^[A-Za-z0-9+/]{43}=$/;

/**
 * A bucket of S3 or of a compatible store. Credentials come from the SDK's default chain: environment, files, web identity,
 * container, instance. The SDK keeps what it has read of AWS's files for ever: when one changes, the next request has a new client.
 * The SDK is loaded here: 40 MiB that nobody pays who has no object store.
 * @param needsRegion whether a region that nothing gives is a fault of the configuration; else every request says that it is missing
 * @throws HooklineError CREDENTIALS_INVALID where BODY_STORE_CA_FILE cannot be used; ConfigError where no region is known
 */
export async function openS3(
  options: S3Options,
  files: RenewalObserver,
  { needsRegion = true } = {},
): Promise<ObjectStore> {
  const sdk = await import('@aws-sdk/client-s3');
  const caFile =
    options.caFile === undefined ? [] : [{ variable: 'BODY_STORE_CA_FILE', path: options.caFile }];
  const awsFiles = awsFilesOf(options);
  const readAwsFile = awsFileReader();
  const current = renewedFrom({
    files: [...caFile, ...awsFiles],
    read: (path) => (path === options.caFile ? readFileSync(path) : readAwsFile(path)),
    observer: files,
    make: (contents) =>
      createClient(
        sdk,
        options,
        caFile.map((file, n) => certificatesIn(contents[n]!, file)),
      ),
  });
  let client = current();
  if (needsRegion) await checkRegion(client.config.region);
  const replaced = new Set<S3Client>();
  /** The one for the next request; what is in progress over the one before comes to its end. */
  const next = () => {
    const now = current();
    if (now !== client) retire(client, replaced);
    client = now;
    return client;
  };
  const close = () => {
    for (const one of [...replaced, client]) one.destroy();
  };
  return { ...storeOver(sdk, next, options), close };
}

/** Longer than any request, of 50 MB too. */
const RETIRED_MS = 5 * 60_000;

function retire(client: S3Client, replaced: Set<S3Client>): void {
  replaced.add(client);
  const end = () => {
    client.destroy();
    replaced.delete(client);
  };
  setTimeout(end, RETIRED_MS).unref();
}

function storeOver(
  sdk: Sdk,
  client: () => S3Client,
  { bucket: Bucket, sseKmsKeyId, endpoint }: S3Options,
): Omit<ObjectStore, 'close'> {
  const ask = async <T>(request: (client: S3Client) => Promise<T>): Promise<T> => {
    try {
      return await request(client());
    } catch (error) {
      throw toFault(error, { bucket: Bucket, endpoint });
    }
  };
  const put = async (
    s3: S3Client,
    Key: string,
    object: NewObject,
    condition: { readonly IfNoneMatch?: '*' },
    abortSignal: AbortSignal,
  ): Promise<WriteAnswer> => {
    const { bytes, sha256, contentType } = object;
    const ChecksumSHA256 = Buffer.from(sha256, 'hex').toString('base64');
    const command = new sdk.PutObjectCommand({
      Bucket,
      Key,
      Body: bytes,
      ContentLength: bytes.length,
      ContentType: contentType,
      ...condition,
      ChecksumSHA256,
      ...(sseKmsKeyId !== undefined && { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: sseKmsKeyId }),
    });
    command.middlewareStack.add(signedWith(sha256), { step: 'build', name: 'hooklinePayloadHash' });
    const answer = await s3.send(command, { abortSignal });
    // What answers in its place may send an ETag, as web frameworks do with each page; nobody but a store knows the checksum. A
    // compatible one that does not send it is asked for the object.
    return answer.ChecksumSHA256 === ChecksumSHA256 ? 'created' : 'unconfirmed';
  };
  const create: ObjectStore['create'] = (key, object, signal) =>
    ask(async (s3) => {
      try {
        return await put(s3, key, object, { IfNoneMatch: '*' }, signal);
      } catch (error) {
        if (statusOf(error) === 412) return 'exists';
        throw error;
      }
    });
  return {
    create,
    replace: (key, object, signal) =>
      ask(async (s3) => {
        try {
          return await put(s3, key, object, {}, signal);
        } catch (error) {
          // The policy of some buckets denies all writes that could replace an object.
          if (statusOf(error) !== 403) throw error;
          const answer = await create(key, object, signal);
          return answer === 'exists' ? 'created' : answer;
        }
      }),
    describe: (Key, abortSignal) =>
      ask(async (s3) => {
        const command = new sdk.HeadObjectCommand({ Bucket, Key, ChecksumMode: 'ENABLED' });
        const found = await s3.send(command, { abortSignal }).catch(async (error) => {
          if (statusOf(error) !== 404) throw error;
          // The answer to HEAD has no body that says what is missing.
          const object = await orNull(s3.send(new sdk.GetObjectCommand({ Bucket, Key }), { abortSignal }));
          if (object === null) return null;
          (object.Body as Readable | undefined)?.destroy();
          throw new ObjectStoreFault('unavailable', `${Key} came while it was asked for`);
        });
        if (!found) return null;
        const { ChecksumSHA256 = '', ContentLength = 0 } = found;
        // Of an object that was put together from parts it is another hash, with their number behind it. The object's
        // metadata is no substitute: whoever changes an object can copy it.
        const isWhole = SHA256_BASE64.test(ChecksumSHA256);
        const sha256 = isWhole ? Buffer.from(ChecksumSHA256, 'base64').toString('hex') : undefined;
        return { bytes: ContentLength, sha256 };
      }),
    read: (Key, maxBytes, abortSignal) =>
      ask(async (s3) => {
        const found = await orNull(s3.send(new sdk.GetObjectCommand({ Bucket, Key }), { abortSignal }));
        const chunks: Buffer[] = [];
        const isRead = found && (await readBounded(found, maxBytes, (chunk) => chunks.push(chunk)));
        if (isRead === null) return null;
        return isRead ? Buffer.concat(chunks) : 'larger';
      }),
    hash: (Key, maxBytes, abortSignal) =>
      ask(async (s3) => {
        const found = await orNull(s3.send(new sdk.GetObjectCommand({ Bucket, Key }), { abortSignal }));
        const sha256 = startSha256();
        const isRead = found && (await readBounded(found, maxBytes, (chunk) => sha256.update(chunk)));
        return isRead ? sha256.digest('hex') : null;
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
        for (const { Key = '', Size = 0, LastModified = new Date(0), StorageClass } of page.Contents ?? [])
          yield { key: Key, bytes: Size, modifiedAt: LastModified, ...archiveOf(StorageClass) };
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

/** False, and the rest is not read, where there are more than `maxBytes`. */
async function readBounded(
  { Body }: GetObjectCommandOutput,
  maxBytes: number,
  take: (chunk: Buffer) => void,
): Promise<boolean> {
  let bytes = 0;
  for await (const chunk of (Body ?? []) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) return false;
    take(chunk);
  }
  return true;
}
