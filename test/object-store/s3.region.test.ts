import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ConfigError } from '../../src/config/env.ts';
import { NO_PROXIES } from '../../src/config/proxy.ts';
import { openS3 } from '../../src/object-store/s3.ts';
import { Fixture } from '../support/topics-fixture.ts';

beforeEach(() => {
  for (const name of ['AWS_REGION', 'AWS_PROFILE']) vi.stubEnv(name, undefined);
  for (const name of ['AWS_SHARED_CREDENTIALS_FILE', 'AWS_CONFIG_FILE']) vi.stubEnv(name, '/nowhere/aws');
});
afterEach(() => vi.unstubAllEnvs());

const open = async (region?: string) => {
  const options = {
    bucket: 'events',
    endpoint: undefined,
    region,
    caFile: undefined,
    sseKmsKeyId: undefined,
  };
  const awsFiles = { awsCredentialsFile: undefined, awsConfigFile: process.env.AWS_CONFIG_FILE };
  const files = { renewed() {}, unusable() {} };
  (await openS3({ ...options, ...awsFiles, ...NO_PROXIES, allowPlaintextCredentials: false }, files)).close();
};

it('a bucket of AWS without a region is a fault of the configuration, found at once', async () => {
  const opened = open();
  await expect(opened).rejects.toBeInstanceOf(ConfigError);
  await expect(opened).rejects.toThrow(
    "BODY_STORE_REGION is not set, and AWS's own variables and files give no region (AWS_REGION, or region in AWS_CONFIG_FILE): set BODY_STORE_REGION to the region of the bucket.",
  );
});

it('a region of BODY_STORE_REGION, of AWS_REGION or of the file of AWS_CONFIG_FILE is enough', async () => {
  await open('eu-central-1');
  await using fixture = new Fixture({ brokers: [], registryUrl: '' });
  vi.stubEnv('AWS_CONFIG_FILE', fixture.file('config', '[default]\nregion = eu-central-1\n'));
  await open();
  vi.stubEnv('AWS_CONFIG_FILE', '/nowhere/aws');
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  await open();
});
