import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openConnection } from '../../../src/kafka/connect/connection.ts';
import type { KafkaSettings } from '../../../src/kafka/connect/settings.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { kafkaSettingsWith } from '../../support/connection-settings.ts';
import { makeAuthority } from '../../support/secure/certificates.ts';

const dir = mkdtempSync(join(tmpdir(), 'hookline-connection-'));
afterAll(() => rmSync(dir, { recursive: true }));
const file = (name: string, text: string) => {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
};
const authority = makeAuthority(dir, 'authority');
const client = authority.issue('client', 'DNS:client');
const other = authority.issue('other', 'DNS:other');

function open(settings: Partial<KafkaSettings>) {
  const told: string[] = [];
  const files = {
    renewed: (renewed: readonly { variable: string }[]) =>
      void told.push(`renewed ${renewed.map(({ variable }) => variable).join(' ')}`),
    unusable: (error: Error) => void told.push(error.message),
  };
  const connection = openConnection({
    settings: kafkaSettingsWith({ ssl: true, ...settings }),
    files,
    clock: systemClock,
  });
  return { connection, told };
}

const sasl = (passwordFile: string): Partial<KafkaSettings> => ({
  saslMechanism: 'PLAIN',
  username: 'ann',
  passwordFile,
});

describe('credential files that can not be used at the start', () => {
  it.each<[string, () => Partial<KafkaSettings>, RegExp]>([
    ['no certificate', () => ({ caFile: file('ca', 'hunter2') }), /KAFKA_CA_FILE.*holds no certificate.*PEM/],
    [
      'a key that is none',
      () => ({ certFile: client.certFile, keyFile: file('key', 'hunter2') }),
      /KAFKA_CERT_FILE and KAFKA_KEY_FILE.*its own key/,
    ],
    [
      "another certificate's key",
      () => ({ certFile: client.certFile, keyFile: other.keyFile }),
      /KAFKA_KEY_FILE.*KEY_VALUES_MISMATCH.*its own key/,
    ],
    ['an empty password', () => sasl(file('empty', '\n')), /KAFKA_PASSWORD_FILE.*is empty/],
    ['nothing', () => sasl(join(dir, 'nowhere')), /KAFKA_PASSWORD_FILE.*can't be read \(ENOENT\)/],
  ])(
    'because they hold %s are refused, the variable and the remedy named, never the content',
    (_, of, message) => {
      const settings = of();
      const refusal = (() => {
        try {
          return open(settings);
        } catch (error) {
          return error;
        }
      })();
      expect(refusal).toMatchObject({ code: 'CREDENTIALS_INVALID', message: expect.stringMatching(message) });
      expect(JSON.stringify(refusal)).not.toMatch(/hunter2|PRIVATE KEY/);
    },
  );
});

describe('credential files that change', () => {
  it('are taken up, and told of once; while they can not be used, what was read before stays', () => {
    const path = file('password', 'first\n');
    const { connection, told } = open(sasl(path));
    const password = () =>
      connection.sasl?.mechanism === 'PLAIN' ? connection.sasl.password() : expect.fail('no password');
    expect(password()).toBe('first');
    file('password', 'second');
    expect([password(), password()]).toEqual(['second', 'second']);
    file('password', '');
    expect([password(), password()]).toEqual(['second', 'second']);
    rmSync(path);
    expect(password()).toBe('second');
    file('password', 'third');
    expect(password()).toBe('third');
    expect(told).toEqual([
      'renewed KAFKA_PASSWORD_FILE',
      expect.stringContaining('is empty'),
      expect.stringContaining('ENOENT'),
      'renewed KAFKA_PASSWORD_FILE',
    ]);
  });
});
