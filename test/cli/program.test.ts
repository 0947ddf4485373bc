import { describe, expect, it } from 'vitest';
import { cli, cliOn } from '../support/cli.ts';
import { readFile } from '../support/generated/files.ts';
import { serve } from '../support/serve.ts';

/** Enough to be asked for nothing more; nobody listens there. */
const ENV = {
  KAFKA_BROKERS: '127.0.0.1:9',
  SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9',
  SANDBOX_URL: 'http://127.0.0.1:9',
};
const NO_STACK = /\n\s+at |node:internal/;

describe('hookline, called wrongly,', () => {
  it.each([
    [['tail'], 'hookline tail --help'],
    [['dlq', 'redrive', '--wrong'], 'hookline dlq redrive --help'],
    [['dlq', 'nonsense'], 'hookline dlq --help'],
    [['nonsense'], 'hookline --help'],
  ])('names the help of the command that was meant: %j', async (args, help) => {
    const { notes } = await cli(ENV, ...args);
    expect(notes).toContain(`(${help} lists `);
  });

  const create = ['command', 'subscription.create', '--ref', 'ledger-eu'];
  it.each<[string[], string]>([
    [['tail', 'x', '--limit', '0'], '--limit is "0": give a whole number from 1'],
    [['tail', 'x', '--limit', '1.5'], '--limit is "1.5"'],
    [['inspect', ''], 'nothing to search for: give a ref'],
    [['dlq', 'show', 'abc'], '"abc" is neither partition:offset nor an event id'],
    [['tail', 'x', '--limit', '-1'], '--limit is "-1"'],
    [['tail', 'x', '--limit', ''], '--limit is ""'],
    [['tail', 'x', '--since', 'yesterday'], '--since yesterday: give a time such as'],
    [['tail', 'x', '--since', '1h', '--from-beginning'], '--since and --from-beginning: give one of them'],
    [['topics', 'plan', '--partitions', '0'], '--partitions is "0"'],
    [['topics', 'apply', '--partitions', '1e9'], '--partitions is "1e9"'],
    [['topics', 'apply', '--replication-factor', '1.5'], '--replication-factor is "1.5"'],
    [[...create, '--timeout', '-1'], '--timeout is "-1": give seconds'],
    [
      [...create, '--timeout', '9999999'],
      '--timeout is "9999999": give seconds, more than 0 and at most 2147483',
    ],
    [[...create, '--expires-in', '0'], '--expires-in is "0"'],
    [[...create, '--expires-in', '99999999999999'], '--expires-in is "99999999999999"'],
    [[...create, '--extra', '[1]'], '--extra is not a JSON object'],
    [[...create, '--extra', 'null'], '--extra is not a JSON object'],
    [['command', 'subscription.make', '--ref', 'x'], 'Allowed choices are subscription.create'],
    [['command', 'subscription.create'], 'subscription.create needs --ref'],
    [
      ['command', 'subscription.list', '--topic', 'payments.payment-status'],
      '--topic is payments.payment-status, which Hookline writes and nobody reads commands from: give a command topic, such as payments.commands',
    ],
    [
      ['command', 'subscription.list', '--topic', 'payments.subscriptions'],
      '--topic is payments.subscriptions',
    ],
    [[...create, '--command-id', ''], '--command-id is "": give 1 to 200 visible characters'],
    [[...create, '--command-id', 'a b'], '--command-id is "a b"'],
    [['command', 'subscription.create', '--ref', 'Ledger'], '--ref is "Ledger"'],
    [['command', 'webhook.replay', '--ref', 'x', '--execution-ids', ','], 'needs --execution-ids'],
    [
      ['command', 'webhook.replay', '--ref', 'x', '--execution-ids', 'y,'.repeat(1_001)],
      '--execution-ids has 1001 entries, at most 1000 are allowed: send several commands',
    ],
    [
      [
        ...['command', 'webhook.replay', '--ref', 'x', '--execution-ids', 'y,'.repeat(600)],
        ...['--execution-ids', 'y,'.repeat(401)],
      ],
      '--execution-ids has 1001 entries',
    ],
    [[...create, '--events', ''], '--events is empty: name at least one event, or leave it out'],
    [['trigger', 'payment-status', '--count', '0'], '--count is "0": give a whole number from 1'],
    [['trigger', 'payment-status', '--rate', '0.5'], '--rate is "0.5"'],
    [['trigger', 'payment-status', '--size', '-1'], '--size is "-1"'],
    [['trigger', 'payment-status', '--seed', ''], '--seed is ""'],
    [['trigger', 'payment-status', '--timeout', '0'], '--timeout is "0"'],
    [['trigger', 'payment-status', '--override', 'status=x'], '--override is "status=x"'],
    [['doctor', '--frobnicate'], "unknown option '--frobnicate'"],
    [['subscriptions', 'plan'], "required option '-f, --file <file>' not specified"],
    [
      ['subscriptions', 'apply', '-f', '/nowhere/s.yaml'],
      '--file is "/nowhere/s.yaml", which cannot be read (ENOENT',
    ],
    [
      ['subscriptions', 'plan', '-f', 'package.json'],
      'package.json:2:3: unknown field "name": use topic, subscriptions',
    ],
    [['subscriptions', 'plan', '-f', 'x', '--timeout', '0'], '--timeout is "0"'],
    [['nonsense'], "unknown command 'nonsense'"],
    [['nonsense', '--help'], "unknown command 'nonsense'"],
    [['help', 'nonsense'], "unknown command 'nonsense'"],
    [['topics', 'nonsense', '--help'], "unknown command 'nonsense'"],
    [['schemas'], 'Usage: hookline schemas'],
    [[], 'Usage: hookline'],
  ])('%j: one sentence, exit code 2, before anything is connected', async (args, sentence) => {
    const { exitCode, out, notes } = await cli(ENV, ...args);
    expect([exitCode, out, notes]).toEqual([2, '', expect.stringContaining(sentence)]);
    expect(notes).not.toMatch(NO_STACK);
  });

  it.each([
    ['topics', 'plan'],
    ['schemas', 'check'],
    ['command', 'subscription.list'],
    ['tail', 'x'],
  ])('%s %s without a configuration: each variable, exit code 2', async (...args) => {
    const { exitCode, notes } = await cli({ SCHEMA_REGISTRY_USERNAME: 'x' }, ...args);
    expect([exitCode, notes]).toEqual([2, expect.stringContaining('SCHEMA_REGISTRY_URL is not set')]);
    expect(notes).toContain('SCHEMA_REGISTRY_USERNAME and SCHEMA_REGISTRY_PASSWORD_FILE go together');
    expect(notes).not.toMatch(NO_STACK);
  });

  it('names a misspelt variable, where the one that was meant is missing', async () => {
    const { notes } = await cli({ KAFKA_BROKER: '127.0.0.1:9' }, 'topics', 'plan');
    expect(notes).toContain('KAFKA_BROKER is not a setting and is not read: did you mean KAFKA_BROKERS?');
  });

  it('verify says of a certificate that it cannot be read, not also that it is missing, and names a misspelt variable', async () => {
    const files = { VERIFY_CERT_FILE: '/nowhere/tls.crt', VERIFY_KEY_FILE: 'package.json' };
    const { notes } = await cli({ ...ENV, ...files, VERIFY_URLS: 'http://127.0.0.1:9' }, 'verify');
    expect(notes.split('\n').slice(1)).toEqual([
      expect.stringContaining('VERIFY_CERT_FILE names "/nowhere/tls.crt", which can\'t be read'),
      '  VERIFY_URLS is not a setting and is not read: did you mean VERIFY_URL?',
    ]);
  });

  it('prints its help, exit code 0', async () => {
    const { exitCode, out, notes } = await cli({}, 'command', '--help');
    expect([exitCode, notes, out]).toEqual([0, '', expect.stringContaining('--execution-ids <list>')]);
  });

  it.each([
    [['help'], 'Usage: hookline'],
    [['help', 'topics'], 'Usage: hookline topics'],
    [['topics', '--help'], 'Usage: hookline topics'],
    [['tail', 'x', '--help'], 'Usage: hookline tail'],
    [['inspect', 'ledger-eu', '-h'], 'Usage: hookline inspect'],
  ])('%j prints the help of what is there, exit code 0', async (args, usage) => {
    const { exitCode, out, notes } = await cli({}, ...args);
    expect([exitCode, notes, out]).toEqual([0, '', expect.stringContaining(usage)]);
  });

  it.each([['dlq', 'redrive'], ['keys', 'status'], ['trigger']])(
    'shows no empty list as the default of an option that may be repeated: %s',
    async (...command) => {
      expect((await cli({}, ...command, '--help')).out).not.toContain('[]');
    },
  );
});

it('hookline --version prints the version, exit code 0', async () => {
  const { version } = JSON.parse(readFile('package.json'));
  expect(await cli({}, '--version')).toMatchObject({ exitCode: 0, out: version });
});

describe('hookline, where nobody answers,', () => {
  it.each([
    [['schemas', 'check'], 'the schema registry does not answer (http://127.0.0.1:9'],
    [['trigger', 'payment-status'], 'no sandbox answers at http://127.0.0.1:9: start it'],
  ])('%j: one sentence, exit code 1', async (args, sentence) => {
    const { exitCode, notes } = await cli(ENV, ...args);
    expect([exitCode, notes.split('\n')]).toEqual([1, [expect.stringContaining(`hookline: ${sentence}`)]]);
    expect(notes).not.toMatch(NO_STACK);
  });

  it('doctor names every faulty setting that it knows of, and prints no password', async () => {
    const env = {
      ...ENV,
      MAX_RECORD_BYTES: '50 MiB',
      COMMAND_TOPICS: ',',
      LOG_LEVEL: 'loud',
      KAFKA_SSL: 'yes',
      KAFKA_PASSWORD: 'hunter2',
      SECRETS_DIR: '/nowhere',
      SCHEMA_REGISTRY_USERNAME: 'x',
    };
    const { exitCode, out } = await cli(env, 'doctor', '--json');
    const findings = JSON.parse(out) as { check: string; state: string; finding: string; remedy: string }[];
    const named = findings.filter(({ check, state }) => check === 'configuration' && state === 'FAULT');
    const names = named.map(({ finding }) => finding.split(' ')[0]);
    expect(exitCode).toBe(1);
    expect(names.toSorted()).toEqual(
      ['MAX_RECORD_BYTES', 'COMMAND_TOPICS', 'LOG_LEVEL', 'KAFKA_SSL', 'KAFKA_PASSWORD', 'SECRETS_DIR']
        .concat('SCHEMA_REGISTRY_USERNAME')
        .toSorted(),
    );
    expect(out).not.toContain('hunter2');
    expect(findings.filter(({ finding }) => /undefined|TypeError/.test(finding))).toEqual([]);
  });

  it('doctor names a misspelt variable also beside another fault', async () => {
    const { out } = await cli({ LOG_LEVEL: 'verbose', KAFKA_BROKER: '127.0.0.1:9' }, 'doctor', '--json');
    expect(JSON.parse(out)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ finding: expect.stringContaining('LOG_LEVEL is "verbose"') }),
        expect.objectContaining({ remedy: 'did you mean KAFKA_BROKERS?' }),
      ]),
    );
  });

  it('doctor names a faulty folder of schemas once, and does not blame the brokers', async () => {
    const { out } = await cli({ ...ENV, SCHEMAS_DIR: import.meta.dirname }, 'doctor', '--json');
    const findings = JSON.parse(out) as { check: string; finding: string; remedy: string }[];
    const onSchemas = findings.filter(({ finding }) => /schema file/.test(finding));
    expect(onSchemas.map(({ check, remedy }) => [check, remedy])).toEqual([
      ['schema files', 'name a folder in SCHEMAS_DIR that has events/*.avsc and commands/*.avsc'],
    ]);
  });

  it.each([80, 120])('doctor fits into %i columns', async (columns) => {
    const { out } = await cliOn(columns, { ...ENV, MAX_RECORD_BYTES: 'x' }, 'doctor');
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
    expect(out).toContain('MAX_RECORD_BYTES');
  });
});

describe('hookline trigger, where something else listens,', () => {
  it('says that this is no sandbox, and why', async () => {
    await using server = await serve((_, response) => response.end('<html>'));
    const { url } = server;
    const { exitCode, notes } = await cli({ SANDBOX_URL: url }, 'trigger', 'payment-status');
    expect([exitCode, notes]).toEqual([1, expect.stringContaining(`no sandbox answers at ${url}`)]);
    expect(notes).toContain('not valid JSON');
  });
});

describe('hookline, given control characters by others,', () => {
  const hostile = 'x\u001b[2J\u009b2J\u202ey\u200f';
  const answers = [
    { status: 400, body: { message: hostile } },
    { status: 200, body: { executions: [{ status: 200, attempts: [], responseBody: hostile }] } },
  ];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for them
  const STEERS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200f\u202e]/;

  it('prints them as escapes: in a table, in an error, and in JSON, which then means the same', async () => {
    await using server = await serve((request, response) => {
      const { status, body } = answers[request.url?.startsWith('/refusing') ? 0 : 1] ?? {};
      response.writeHead(status ?? 500).end(JSON.stringify(body));
    });
    const { url } = server;
    const table = await cli({ SANDBOX_URL: url }, 'trigger', 'payment-status');
    const json = await cli({ SANDBOX_URL: url }, 'trigger', 'payment-status', '--json');
    const error = await cli({ SANDBOX_URL: `${url}/refusing` }, 'trigger', 'payment-status');
    expect([table.out, json.out, error.notes].filter((text) => STEERS.test(text))).toEqual([]);
    expect(JSON.parse(json.out)).toMatchObject([{ said: hostile }]);
    expect(error.notes).toBe('hookline: x\\u001b[2J\\u009b2J\\u202ey\\u200f');
  });
});
