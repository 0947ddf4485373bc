import { afterEach, expect, it, vi } from 'vitest';
import { createFetcher } from '../../../deploy/examples/ledger/fetch-message.ts';

const reference = { uri: 's3://events/e.json', bytes: 2, sha256: '', omitted: [] };

/** What a fetcher warns of at its start, in an environment without the files of AWS. */
async function warnings(endpoint: string | undefined, region: string | undefined) {
  vi.stubEnv('AWS_REGION', region);
  vi.stubEnv('AWS_CONFIG_FILE', '/dev/null');
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/dev/null');
  const warned: string[] = [];
  const fetchMessage = await createFetcher(endpoint, (fault) => warned.push(fault));
  return { warned, fetchMessage };
}

afterEach(() => vi.unstubAllEnvs());

it('names the variable at the start where AWS is used and no region is known, and with each message', async () => {
  const { warned, fetchMessage } = await warnings(undefined, undefined);
  expect(warned).toEqual([expect.stringContaining('set AWS_REGION')]);
  await expect(fetchMessage(reference)).rejects.toThrow(/^s3:\/\/events\/e.json: .*set AWS_REGION/);
});

it('has nothing to say where a region is known, or the store is not AWS', async () => {
  expect((await warnings(undefined, 'eu-central-1')).warned).toEqual([]);
  expect((await warnings('http://127.0.0.1:9', undefined)).warned).toEqual([]);
});
