import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { readSchemaFiles } from '../../src/avro/schema-files.ts';
import { field, schemaText } from '../support/event-schemas.ts';
import { Fixture } from '../support/topics-fixture.ts';

const fixtureOf = () => new Fixture(inject('stack'));

/** Starts a process that should not start, and gives what it said. */
async function refusal(fixture: Fixture, entry: string, env: Record<string, string | undefined>) {
  const running = fixture.start(entry, env);
  const exitCode = await running.end();
  return { exitCode, text: running.written() };
}

describe('a faulty configuration', () => {
  it.each([
    [
      'src/ingress/main.ts',
      {
        KAFKA_BROKERS: 'nonsense',
        PUBLISH_DEADLINE_MS: 'soon',
        ALLOWED_SOURCES: '300.1.1.1',
        ENCRYPTION_LAYOUT: 'rot13',
        TLS_KEY_FILE: '/nowhere.pem',
        LOG_LEVEL: 'loud',
        KAFKA_PASSWORD: 'hunter2',
      },
      [
        'KAFKA_BROKERS',
        'PUBLISH_DEADLINE_MS',
        'ALLOWED_SOURCES',
        'ENCRYPTION_LAYOUT',
        'TLS_KEY_FILE',
        'LOG_LEVEL',
        'KAFKA_PASSWORD_FILE',
      ],
    ],
    [
      'src/control/main.ts',
      {
        PROVIDER_AUTH_URL: 'ftp://x',
        PUBLIC_URL: undefined,
        SEALING_KEY_FILE: undefined,
        KAFKA_SASL_MECHANISM: 'PLAIN',
      },
      [
        'PROVIDER_AUTH_URL',
        'PROVIDER_BASE_URL',
        'PROVIDER_SCOPE',
        'PROVIDER_JWT_FILE',
        'PUBLIC_URL',
        'SEALING_KEY_FILE',
        'KAFKA_USERNAME',
      ],
    ],
    [
      'src/sandbox/main.ts',
      { SANDBOX_PORT: 'x', SANDBOX_DIALECT_FILE: '/nowhere.json' },
      ['SANDBOX_PORT', 'SANDBOX_DIALECT_FILE'],
    ],
  ])(
    'of %s is refused whole: every variable named, exit code 78, no stack trace, no secret',
    async (entry, env, names) => {
      await using fixture = fixtureOf();
      const { exitCode, text } = await refusal(fixture, entry, env);
      expect(exitCode).toBe(78);
      for (const name of names) expect(text).toContain(name);
      expect(text).not.toMatch(/\n\s+at |hunter2/);
    },
  );

  it('of the dialect names each key', async () => {
    await using fixture = fixtureOf();
    const file = fixture.file(
      'dialect.json',
      '{"create":{"body":{"u":"{nobody}"}},"lists":{},"list":{"id":"id"}}',
    );
    const env = {
      ...fixture.controlEnv({ provider: 'http://127.0.0.1:9', publicUrl: 'http://127.0.0.1:9' }),
      PROVIDER_DIALECT_FILE: file,
    };
    const { exitCode, text } = await refusal(fixture, 'src/control/main.ts', env);
    expect(exitCode).toBe(78);
    for (const fault of ['{nobody}', 'lists is unknown', 'list.id must be a JSON pointer'])
      expect(text).toContain(fault);
  });

  it.each([
    ['a file that can not be compiled', '{"type":"record"', /odd\.avsc: .*JSON/],
    [
      'a pointer that is none',
      schema({ pointer: 'a/b' }),
      /odd\.avsc, field extra: pointer "a\/b" is no JSON pointer/,
    ],
    ['a type that two claim', schema({ eventTypes: ['payment-status'] }), /payment-status.*claimed by/],
  ])('of the schemas is refused with file and field: %s', async (_, text, message) => {
    await using fixture = fixtureOf();
    for (const kind of ['events', 'commands'])
      mkdirSync(join(fixture.dir, 'schemas', kind), { recursive: true });
    for (const kind of ['events', 'commands'] as const) {
      for (const { name, text: own } of readSchemaFiles(undefined, kind))
        writeFileSync(join(fixture.dir, 'schemas', name), own);
    }
    writeFileSync(join(fixture.dir, 'schemas/events/odd.avsc'), text);
    const refused = await refusal(fixture, 'src/ingress/main.ts', {
      SCHEMAS_DIR: join(fixture.dir, 'schemas'),
    });
    expect([refused.exitCode, refused.text]).toEqual([78, expect.stringMatching(message)]);
    expect(refused.text).not.toMatch(/\n\s+at /);
  });

  it('of a folder without schemas is refused, and the variable named', async () => {
    await using fixture = fixtureOf();
    const { exitCode, text } = await refusal(fixture, 'src/ingress/main.ts', { SCHEMAS_DIR: fixture.dir });
    expect(exitCode).toBe(78);
    expect(text).toContain('name a folder in SCHEMAS_DIR that has events/*.avsc and commands/*.avsc');
  });

  it('of the way to the brokers and the registry is refused whole, each fault with its remedy', async () => {
    await using fixture = fixtureOf();
    const env = {
      KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512',
      KAFKA_CERT_FILE: fixture.file('cert', 'hunter2'),
      SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9',
      SCHEMA_REGISTRY_USERNAME: 'ann',
      SCHEMA_REGISTRY_CA_FILE: fixture.file('ca', 'hunter2'),
    };
    const { exitCode, text } = await refusal(fixture, 'src/ingress/main.ts', env);
    expect(exitCode).toBe(78);
    for (const fault of [
      'KAFKA_USERNAME and KAFKA_PASSWORD_FILE go with PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 in KAFKA_SASL_MECHANISM: set all three or none.',
      'KAFKA_CERT_FILE and KAFKA_KEY_FILE go together: set both or none.',
      'KAFKA_CA_FILE and KAFKA_CERT_FILE need TLS: set KAFKA_SSL to true.',
      'SCHEMA_REGISTRY_USERNAME and SCHEMA_REGISTRY_PASSWORD_FILE go together: set both or none.',
      'SCHEMA_REGISTRY_CA_FILE and SCHEMA_REGISTRY_CERT_FILE need an https address in SCHEMA_REGISTRY_URL.',
    ])
      expect(text).toContain(fault);
  });

  it.each([
    ['src/ingress/main.ts', 'KAFKA_CA_FILE'],
    ['src/control/main.ts', 'SCHEMA_REGISTRY_CA_FILE'],
  ])('of %s is refused where a file holds no certificate: %s', async (entry, variable) => {
    await using fixture = fixtureOf();
    const urls = { provider: 'http://127.0.0.1:9', publicUrl: 'http://127.0.0.1:9' };
    const env = {
      ...fixture.controlEnv(urls),
      KAFKA_SSL: 'true',
      SCHEMA_REGISTRY_URL: 'https://127.0.0.1:9',
      [variable]: fixture.file('ca', 'hunter2'),
    };
    const { exitCode, text } = await refusal(fixture, entry, env);
    expect([exitCode, text]).toEqual([78, expect.stringMatching(`${variable}.*holds no certificate.*PEM`)]);
    expect(text).not.toMatch(/\n\s+at |hunter2/);
  });

  it('of the sealing key is refused, without what stands in it', async () => {
    await using fixture = fixtureOf();
    const env = { SEALING_KEY_FILE: fixture.file('bad-key', 'hunter2') };
    const { text, exitCode } = await refusal(fixture, 'src/ingress/main.ts', env);
    expect([exitCode, text]).toEqual([78, expect.stringContaining('SEALING_KEY_FILE')]);
    expect(text).not.toContain('hunter2');
  });
});

function schema({
  pointer = '/payload/extra',
  eventTypes = ['odd'],
}: {
  pointer?: string;
  eventTypes?: string[];
}): string {
  return schemaText([field('extra', 'string', pointer)], { topic: 'odd', eventTypes });
}
