import { ConfigError } from '../config/env.ts';
import { connectionFaultOf, explainFault, type OtherSide } from '../runtime/connection-fault.ts';
import { ObjectStoreFault } from './object-store.ts';

type SdkError = Error & { readonly $metadata?: { readonly httpStatusCode?: number } };

export const statusOf = (error: unknown): number | undefined => (error as SdkError).$metadata?.httpStatusCode;

/** Null where the store says that there is no such thing: not any 404, which may be of the bucket, or of what stands before the store. */
export async function orNull<T>(answer: Promise<T>, name = 'NoSuchKey'): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if ((error as SdkError).name === name) return null;
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

const RIGHTS = 'allow s3:PutObject and s3:GetObject on the prefix of BODY_STORE, and the use of its KMS key';
const CREDENTIALS = 'correct the credentials';
const RENEWAL = 'renew the credentials';
const REGION = 'set BODY_STORE_REGION to the region of the bucket';
/** What the SDK says of a region that nothing gives. */
const NO_REGION = 'Region is missing';
const QUOTA = 'delete objects that no record refers to, or raise the quota of the bucket';
const SPACE = 'give the store more space';
const SIZE = "raise the store's limit for one object, or lower MAX_BODY_BYTES to what the store takes";

const ARCHIVED = 'InvalidObjectState';
const RESTORE =
  'restore the object, and let no lifecycle rule move objects to an archive class: those of GLACIER_IR can be read at once';

/** Whether the object is there, in an archive class: it cannot be read before it is restored. */
export function isArchived(error: unknown): boolean {
  for (let one = error; one instanceof Error; one = one.cause) if (one.name === ARCHIVED) return true;
  return false;
}

/** @throws ConfigError where neither BODY_STORE_REGION nor AWS's own variables and files give a region */
export async function checkRegion(region: () => Promise<string>): Promise<void> {
  const error = await region().then(
    () => null,
    (failure: Error) => failure,
  );
  if (error?.message !== NO_REGION) return;
  const fault =
    "BODY_STORE_REGION is not set, and AWS's own variables and files give no region (AWS_REGION, or region in AWS_CONFIG_FILE): ";
  throw new ConfigError([`${fault}${REGION}.`]);
}

/** By the error's name: what an operator does about it. */
const REMEDIES: Readonly<Record<string, string>> = {
  NoSuchBucket: 'create the bucket, or correct BODY_STORE',
  InvalidBucketName: 'correct BODY_STORE',
  AccessDenied: RIGHTS,
  InvalidAccessKeyId: CREDENTIALS,
  // As the Versity gateway says it.
  XAdminUserNotFound: CREDENTIALS,
  SignatureDoesNotMatch: 'correct the credentials, or BODY_STORE_REGION',
  AuthorizationHeaderMalformed: 'correct the credentials, or BODY_STORE_REGION',
  InvalidToken: CREDENTIALS,
  ExpiredToken: RENEWAL,
  TokenRefreshRequired: RENEWAL,
  CredentialsProviderError:
    'give credentials by the environment, a file, web identity or the instance, as for every AWS SDK',
  NotImplemented: 'use an object store that supports If-None-Match and SHA-256 checksums',
  PermanentRedirect: REGION,
  IllegalLocationConstraintException: REGION,
  RequestTimeTooSkewed: 'correct the clock of this machine',
  InsufficientStorage: SPACE,
  // As MinIO says it.
  XMinioStorageFull: SPACE,
  XMinioAdminBucketQuotaExceeded: QUOTA,
  QuotaExceeded: QUOTA,
  EntityTooLarge: SIZE,
  [ARCHIVED]: RESTORE,
};

/** By the status, for answers without a body: those to HEAD, and those of what stands before a store. */
const REMEDIES_BY_STATUS: Readonly<Record<number, string>> = {
  301: REGION,
  307: 'set BODY_STORE_ENDPOINT to the address that answers by itself, or BODY_STORE_REGION to the region of the bucket',
  401: CREDENTIALS,
  403: RIGHTS,
  404: 'create the bucket, or correct BODY_STORE and BODY_STORE_ENDPOINT',
  413: SIZE,
  507: SPACE,
};

/** Answers that S3 gives to be asked again, some of them with status 400; docs.aws.amazon.com/AmazonS3, "Error responses". */
const TEMPORARY = ['RequestTimeout', 'SlowDown', 'IncompleteBody', 'OperationAborted', 'InternalError'];

/** 408 and 429 ask for another try; 409 means that another write of this name is in progress. */
const TEMPORARY_STATUSES = [408, 409, 425, 429];

const isTemporary = (status: number, name: string) =>
  TEMPORARY.includes(name) || TEMPORARY_STATUSES.includes(status) || (status >= 500 && status !== 501);

/** Of the refusals with these statuses, most are about one object: its size, its name or its bytes. */
const OBJECT_STATUSES = [400, 411, 412, 413, 414, 422];

/** These are about credentials, the bucket, its key or its quota, whatever the status. */
const ABOUT_THE_STORE =
  /Token|Credential|Authorization|Signature|Access|Bucket|Location|KMS|Encryption|Quota|Storage/i;

function kindOf(status: number, name: string): ObjectStoreFault['kind'] {
  if (isTemporary(status, name)) return 'unavailable';
  if (name === ARCHIVED) return 'object_refused';
  const isAboutObject = OBJECT_STATUSES.includes(status) && !ABOUT_THE_STORE.test(name);
  return isAboutObject ? 'object_refused' : 'refused';
}

/** What a store says of itself goes into logs and answers of readiness: never more than this. */
const MAX_WHY = 300;

/** The fault behind an error of the SDK. */
export function toFault(
  error: unknown,
  { bucket, endpoint }: { bucket: string; endpoint: string | undefined },
): ObjectStoreFault {
  if (error instanceof ObjectStoreFault) return error;
  const { name, message } = error as SdkError;
  const status = statusOf(error);
  const at = endpoint === undefined ? `bucket ${bucket}` : `bucket ${bucket} at ${endpoint}`;
  const faultOf = (kind: ObjectStoreFault['kind'], why: string, remedy: string | undefined) =>
    new ObjectStoreFault(kind, `${at}${why}`, { cause: error, ...(remedy && { remedy }) });
  if (name === 'CredentialsProviderError')
    return faultOf('refused', `: ${message.slice(0, MAX_WHY)}`, REMEDIES[name]);
  if (status === undefined) {
    const fault = connectionFaultOf(error);
    const unexplained = { finding: message, remedy: message === NO_REGION ? REGION : undefined };
    const { finding, remedy } = fault ? explainFault(fault, STORE) : unexplained;
    return faultOf('unavailable', `: ${finding.slice(0, MAX_WHY)}`, remedy);
  }
  // The SDK's words where the answer has no body.
  const isSilent = name === 'Unknown' || name === 'UnknownError' || name === String(status);
  const reason = isSilent ? ' without a reason' : `: ${name}, ${message.slice(0, MAX_WHY)}`;
  const remedy = REMEDIES[name] ?? REMEDIES_BY_STATUS[status];
  return faultOf(kindOf(status, name), ` answered ${status}${reason}`, remedy);
}
