import type { ValuesOf } from '../config/env.ts';
import {
  type EnvReader,
  Fault,
  integer,
  milliseconds,
  optional,
  path,
  setting,
  text,
  url,
} from '../config/env.ts';
import { checkPlaintextUrl, plaintextSettings } from '../config/plaintext-credentials.ts';
import { proxySettings } from '../config/proxy.ts';

/** Where in an object store messages go. */
export type BodyStoreAddress = {
  readonly bucket: string;
  /** Without a slash at either end; empty for the bucket's root. */
  readonly prefix: string;
};

/** The smallest CLAIM_CHECK_BYTES: about what the key, the headers and the reference of a record take alone. */
const MIN_CLAIM_CHECK_BYTES = 1_024;

/** Below the usual max.message.bytes of 1 MiB. */
const CLAIM_CHECK_BYTES = 900_000;

/** AWS's own variables, which its SDK reads: what is wrong with one of them it says itself. */
const awsSettings = {
  awsCredentialsFile: optional(
    text('AWS_SHARED_CREDENTIALS_FILE', {
      about:
        "AWS's own variable: file with credentials for BODY_STORE; read again when it changes; unset means ~/.aws/credentials, if there is one",
    }),
  ),
  awsConfigFile: optional(
    text('AWS_CONFIG_FILE', {
      about:
        "AWS's own variable: file with profiles for BODY_STORE; read again when it changes; unset means ~/.aws/config, if there is one",
    }),
  ),
  awsS3Endpoint: optional(
    text('AWS_ENDPOINT_URL_S3', {
      about: "AWS's own variable: address of S3 where BODY_STORE_ENDPOINT is unset",
    }),
  ),
  awsStsEndpoint: optional(
    text('AWS_ENDPOINT_URL_STS', {
      about: "AWS's own variable: address at which a web identity is exchanged for credentials",
    }),
  ),
  awsEndpoint: optional(
    text('AWS_ENDPOINT_URL', {
      about: "AWS's own variable: address of each of these two that has no variable of its own",
    }),
  ),
  areAwsEndpointsIgnored: optional(
    text('AWS_IGNORE_CONFIGURED_ENDPOINT_URLS', {
      about: "AWS's own variable: where it is true, none of these addresses counts",
    }),
  ),
};

/** The object store for messages that are too large for their records. */
export const bodyStoreSettings = {
  address: optional(
    setting(
      'BODY_STORE',
      {
        about:
          'object store that takes the messages of events whose records would exceed CLAIM_CHECK_BYTES, as s3://bucket/prefix; unset means that every record holds its message',
      },
      parseAddress,
    ),
  ),
  endpoint: optional(
    url('BODY_STORE_ENDPOINT', {
      about: "address of an S3-compatible object store; unset means AWS's own of the region",
    }),
  ),
  region: optional(
    text('BODY_STORE_REGION', {
      about:
        "region of the bucket; unset means AWS's own variables and files, or us-east-1 with BODY_STORE_ENDPOINT",
    }),
  ),
  caFile: optional(
    path('BODY_STORE_CA_FILE', {
      about: "PEM file with the object store's certificate authority; read again when it changes",
    }),
  ),
  sseKmsKeyId: optional(
    text('BODY_STORE_SSE_KMS_KEY_ID', {
      about:
        'id of the KMS key that encrypts objects at rest; unset means the encryption that the bucket has by default',
    }),
  ),
  deadlineMs: milliseconds('BODY_STORE_DEADLINE_MS', {
    about: 'longest time that an event waits for the object store',
    fallback: '15000',
    min: 1,
  }),
  claimCheckBytes: integer('CLAIM_CHECK_BYTES', {
    about:
      'largest record that holds its message, if BODY_STORE is set; larger ones refer to an object. Keep it below the max.message.bytes of the topics',
    fallback: String(CLAIM_CHECK_BYTES),
    min: MIN_CLAIM_CHECK_BYTES,
  }),
  ...awsSettings,
  ...plaintextSettings,
  ...proxySettings,
};

export type BodyStoreSettings = ValuesOf<typeof bodyStoreSettings>;

/** What only several variables together show. */
export function checkBodyStoreSettings(settings: BodyStoreSettings, reader: EnvReader): void {
  const { address, endpoint, region, caFile, sseKmsKeyId } = settings;
  const further = {
    BODY_STORE_ENDPOINT: endpoint,
    BODY_STORE_REGION: region,
    BODY_STORE_CA_FILE: caFile,
    BODY_STORE_SSE_KMS_KEY_ID: sseKmsKeyId,
  };
  for (const [name, value] of Object.entries(further)) {
    if (address === undefined && value !== undefined)
      reader.fault(`${name} has no effect without BODY_STORE: set BODY_STORE to s3://bucket/prefix.`, [
        'BODY_STORE',
      ]);
  }
  if (caFile !== undefined && endpoint?.startsWith('http:')) {
    reader.fault('BODY_STORE_CA_FILE needs an https address in BODY_STORE_ENDPOINT.');
  }
  const credential = 'signed requests and messages';
  checkPlaintextUrl(settings, { variable: 'BODY_STORE_ENDPOINT', url: endpoint, credential }, reader);
  if (address !== undefined) checkAwsEndpoints(settings, reader);
}

/** The SDK sends what it has to where these say, whichever of them counts for S3 in the end. */
function checkAwsEndpoints(settings: BodyStoreSettings, reader: EnvReader): void {
  if (settings.areAwsEndpointsIgnored?.toLowerCase() === 'true') return;
  const credential = 'signed requests and tokens';
  const urls = {
    AWS_ENDPOINT_URL_S3: settings.awsS3Endpoint,
    AWS_ENDPOINT_URL_STS: settings.awsStsEndpoint,
    AWS_ENDPOINT_URL: settings.awsEndpoint,
  };
  for (const [variable, url] of Object.entries(urls))
    checkPlaintextUrl(settings, { variable, url, credential }, reader);
}

/** S3's rules for names of buckets; of keys the characters that need no escaping anywhere. */
const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9!_.*'()/-]*))?$/;
const MAX_PREFIX = 256;

function parseAddress(value: string): BodyStoreAddress {
  const [, bucket, path = ''] = ADDRESS.exec(value) ?? [];
  const prefix = path.replace(/^\/+|\/+$/g, '');
  if (bucket === undefined || prefix.includes('//') || prefix.length > MAX_PREFIX) {
    throw new Fault(
      `is ${JSON.stringify(value)}: give s3://bucket/prefix, the prefix in letters, digits and !_.*'()-/ and of at most ${MAX_PREFIX} characters.`,
    );
  }
  return Object.freeze({ bucket, prefix });
}
