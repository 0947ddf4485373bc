import { expect, it } from 'vitest';
import { loadIngressConfig } from '../../src/ingress/settings.ts';

const ENV = {
  KAFKA_BROKERS: '127.0.0.1:9092',
  SCHEMA_REGISTRY_URL: 'http://127.0.0.1:8081',
  SECRETS_DIR: '/s',
};
const load = (more: object) => loadIngressConfig({ env: { ...ENV, ...more }, fileFault: () => null });

it('refuses to accept webhooks for as long as a stop may take: requests in progress would be cut', () => {
  expect(load({ STOP_DELAY_MS: '24999' }).ingress.stopDelayMs).toBe(24_999);
  expect(() => load({ STOP_DELAY_MS: '25000' })).toThrow(
    'STOP_DELAY_MS is 25000: give less than STOP_DEADLINE_MS (25000), or every stop cuts requests in progress.',
  );
});

it('listens on all addresses of both families unless told otherwise', () => {
  const { ingress, runtime } = load({});
  expect([ingress.host, runtime.adminHost]).toEqual(['::', '::']);
  expect(load({ INGRESS_HOST: '0.0.0.0' }).ingress.host).toBe('0.0.0.0');
});

it('refuses a memory budget that no machine has: the first large webhook would fail', () => {
  expect(load({ MEMORY_BUDGET_BYTES: String(1024 ** 4) }).ingress.memoryBudgetBytes).toBe(1024 ** 4);
  expect(() => load({ MEMORY_BUDGET_BYTES: '9007199254740991' })).toThrow(
    'MEMORY_BUDGET_BYTES is "9007199254740991": give a whole number from 1 to 1099511627776.',
  );
});

it('names a misspelt variable beside the fault of the one that was meant', () => {
  const misspelt = { KAFKA_BROKERS: undefined, KAFKA_BROKER: '127.0.0.1:9092' };
  expect(() => load(misspelt)).toThrow(
    /KAFKA_BROKERS is not set.*KAFKA_BROKER is not a setting and is not read/s,
  );
});

it('says of a file that cannot be read only that', () => {
  const source = {
    env: { ...ENV, TLS_CERT_FILE: '/none', TLS_KEY_FILE: '/key' },
    fileFault: (path: string) => (path === '/none' || path === '/s' ? 'ENOENT' : null),
  };
  expect(() => loadIngressConfig(source)).toThrow(/^The configuration has 2 faults:.*TLS_CERT_FILE names/s);
});
