import { describe, expect, it } from 'vitest';
import { defaultOptions, loadOptions } from '../../src/sandbox/config.ts';
import { DEFAULT_DIALECT } from '../../src/sandbox/core/dialect.ts';
import { faultsOf } from '../support/faults-of.ts';

const load = (env: Record<string, string>, files: Record<string, string> = {}) =>
  loadOptions({ env, fileFault: (path) => (path in files ? null : 'ENOENT') }, (path) => files[path] ?? '');

const faultsIn = (env: Record<string, string>, files: Record<string, string> = {}) =>
  faultsOf(() => load(env, files)).join('\n');

describe('the options of a sandbox', () => {
  it('have a default for everything', () => {
    expect(defaultOptions()).toMatchObject({
      host: '127.0.0.1',
      port: 8090,
      jwt: 'sandbox-lite-jwt',
      tokenTtlS: 300,
      dialect: DEFAULT_DIALECT,
      allowHttpReceivers: true,
      retryScheduleS: [1, 5, 30, 120, 600],
      deliveryTimeoutMs: 10_000,
      layout: 'iv12.ciphertext.tag16',
      keepExecutions: 10_000,
    });
  });

  it('come from the environment and from the files that it names', () => {
    const options = load(
      {
        SANDBOX_JWT_FILE: '/jwt',
        SANDBOX_DIALECT_FILE: '/dialect',
        SANDBOX_RETRY_SCHEDULE: '0.5, 2',
      },
      {
        '/jwt': 'mine\n',
        '/dialect': '{"list":{"items":"/data"}}',
      },
    );
    expect(options).toMatchObject({
      jwt: 'mine',
      dialect: { list: { items: '/data', id: '/id' } },
      retryScheduleS: [0.5, 2],
    });
  });

  it('report every fault at once, each with its variable', () => {
    const faults = faultsIn(
      {
        SANDBOX_PORT: 'http',
        SANDBOX_JWT_FILE: '/empty',
        SANDBOX_DIALECT_FILE: '/dialect',
        SANDBOX_RETRY_SCHEDULE: '1,soon',
      },
      { '/dialect': '{"list":{"item":""}}', '/empty': ' \n' },
    );
    expect(faults).toContain('SANDBOX_PORT is "http"');
    expect(faults).toContain('SANDBOX_JWT_FILE names an empty file');
    expect(faults).toContain('SANDBOX_DIALECT_FILE: /list/item is not known');
    expect(faults).toContain('SANDBOX_RETRY_SCHEDULE has "soon"');
  });
});

it('names a misspelt option beside a fault', () => {
  expect(() => load({ SANDBOX_PORT: 'x', SANDBOX_HOTS: '0.0.0.0' })).toThrow(
    /SANDBOX_PORT is "x".*SANDBOX_HOTS is not a setting and is not read: did you mean SANDBOX_HOST\?/s,
  );
});
