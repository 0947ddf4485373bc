import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkVersion } from '../../../src/kafka/connect/client-patches.ts';

it('Patches are refused for another version of the client, by both versions and where to read on', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookline-client-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{"version":"2.3.0"}');
    expect(() => checkVersion('kafkajs', '2.2.4', folder)).toThrow(
      /^kafkajs is 2\.3\.0, and Hookline's patches are for 2\.2\.4: see src\/kafka\/connect\/client-patches\.ts/,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it.each([
  ['kafkajs', '2.2.4'],
  ['@platformatic/kafka', '2.12.1'],
])('The version that is checked is the installed one: %s %s', (client, version) => {
  expect(() => checkVersion(client, version)).not.toThrow();
  expect(() => checkVersion(client, '0.0.1')).toThrow(`${client} is ${version}`);
});
