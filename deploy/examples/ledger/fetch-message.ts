import { createHash } from 'node:crypto';
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';

/** Where the message of an event is that its record does not hold: `sourceRef`. */
export type Reference = {
  readonly uri: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Dotted paths of fields that are null in the record, and must be read from the message. */
  readonly omitted: readonly string[];
};

const NO_REGION =
  'no AWS region is known, so that no message can be fetched: set AWS_REGION, or BODY_STORE_ENDPOINT for a store that is not AWS';

/**
 * Fetches messages from the object store, and verifies them: an object that is missing or was changed is an error, never a
 * message. Credentials come from AWS's default chain.
 * @param endpoint of a store that is compatible with S3; undefined for AWS
 * @param warn told at the start that messages cannot be fetched: a consumer whose events refer to none does not need them
 */
export async function createFetcher(
  endpoint: string | undefined,
  warn: (fault: string) => void,
): Promise<(reference: Reference) => Promise<string>> {
  const s3 = new S3Client({
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true, region: 'us-east-1' }),
    // A store that does not answer rejects, and the event is tried again.
    requestHandler: { connectionTimeout: 3_000, socketTimeout: 10_000 },
    // The checksum that counts is the one in the record.
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  const hasRegion = await s3.config.region().then(Boolean, () => false);
  if (!hasRegion) warn(NO_REGION);
  return async ({ uri, bytes, sha256 }) => {
    if (!hasRegion) throw new Error(`${uri}: ${NO_REGION}`);
    const [, bucket = '', key = ''] = /^s3:\/\/([^/]+)\/(.+)$/.exec(uri) ?? [];
    const { Body, ContentLength } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
    // Before it is read: another object may have any size.
    if (ContentLength !== bytes || !Body)
      throw new Error(`${uri} has ${ContentLength} bytes instead of ${bytes}`);
    const message = await Body.transformToByteArray();
    if (createHash('sha256').update(message).digest('hex') !== sha256) throw new Error(`${uri} was changed`);
    return Buffer.from(message).toString();
  };
}
