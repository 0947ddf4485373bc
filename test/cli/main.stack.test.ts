import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { cli, cliJson, cliUntil } from '../support/cli.ts';
import { shellLine } from '../support/shell-line.ts';
import { setTopicConfig } from '../support/topic-config.ts';
import { testKafka } from '../support/topic-reader.ts';
import { Fixture } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';

const RECORDS = 4;
const BYTES = 200_000;
/** What some terminals take for a command (U+009B is one beside ESC), and what turns the text around it. */
const HOSTILE = '\u001b[2J\nforged: line\u009b2J\u202e';
const unsafeIn = (text: string) => ['\u001b', '\u009b', '\u202e'].filter((one) => text.includes(one));

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.make(inject('stack'));
  const kafka = testKafka(fixture.env);
  const admin = kafka.admin();
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await Promise.all([admin.connect(), producer.connect()]);
  const foreign = `${fixture.prefix}-ledger.commands`;
  const topics = [{ topic: foreign, numPartitions: 1, replicationFactor: 1 }];
  await admin.createTopics({ topics, waitForLeaders: false });
  const value = JSON.stringify({ type: 'Buffer', text: 'x'.repeat(BYTES) });
  const headers = { said: HOSTILE };
  const messages = Array.from({ length: RECORDS }, () => ({ key: 'e-1', value, headers }));
  await producer.send({ topic: fixture.topic('commands'), messages });
  const send = { topic: foreign, messages: [{ key: 'theirs', value: '{"a":1}' }] };
  // The first reader takes the first record: one that was sent twice does no harm.
  await until('the new topic has a leader', () => producer.send(send).catch(() => null), 30_000);
  await Promise.all([admin.disconnect(), producer.disconnect()]);
});

afterAll(() => fixture[Symbol.asyncDispose]());

const shell = (line: string) => shellLine(line, fixture.env);

describe('hookline in a pipe', () => {
  it('writes all records completely, also those larger than the pipe', async () => {
    const { stdout } = await shell(`hookline tail commands --from-beginning --limit ${RECORDS} --json | cat`);
    const records = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(records.map(({ value }) => [value.type, value.text.length])).toEqual(
      Array.from({ length: RECORDS }, () => ['Buffer', BYTES]),
    );
  });

  it('ends quietly when its reader ends, exit code 0', async () => {
    const { stdout, stderr } = await shell('hookline tail commands --from-beginning --json | head -n 1');
    expect(stdout.trim().split('\n')).toHaveLength(1);
    expect(stderr).toBe(`following ${fixture.topic('commands')}; Ctrl-C ends\n`);
  });

  it('prints nothing that controls the terminal or looks like another line', async () => {
    const { stdout } = await shell('hookline tail commands --from-beginning --limit 1');
    expect(stdout).toContain('  said: \\u001b[2J\\nforged: line\\u009b2J\\u202e\n');
    expect(unsafeIn(stdout)).toEqual([]);
  });

  it('prints nothing that controls the terminal in JSON either, where the escapes mean the same', async () => {
    const { stdout } = await shell('hookline tail commands --from-beginning --limit 1 --json');
    expect(unsafeIn(stdout)).toEqual([]);
    expect(JSON.parse(stdout).headers).toEqual({ said: HOSTILE });
  });
});

describe('hookline tail', () => {
  it('takes a full name with another prefix, as well as the part after ours', async () => {
    const args = ['--from-beginning', '--limit', '1', '--json'];
    const theirs = await cli(fixture.env, 'tail', `${fixture.prefix}-ledger.commands`, ...args);
    expect(JSON.parse(theirs.out)).toMatchObject({ key: 'theirs', value: { a: 1 } });
    const ours = await cliJson<{ topic: string }>(fixture.env, 'tail', 'commands', ...args.slice(0, 3));
    expect(ours.topic).toBe(fixture.topic('commands'));
  });

  it('starts with records written since a time', async () => {
    const topic = fixture.topic('subscriptions');
    await setTopicConfig(fixture.env, topic, {
      'cleanup.policy': 'compact',
      'message.timestamp.type': 'CreateTime',
    });
    const producer = testKafka(fixture.env).producer({ allowAutoTopicCreation: false });
    await producer.connect();
    const hourAgo = Date.now() - 3_600_000;
    // In two requests: Kafka finds the record by its time, however many came along with it.
    for (const [key, at] of [
      ['earlier', hourAgo],
      ['later', Date.now() - 60_000],
    ] as const)
      await producer.send({ topic, messages: [{ key, value: '{}', partition: 0, timestamp: String(at) }] });
    await producer.disconnect();
    const first = async (since: string) =>
      (await cliJson<{ key: string }>(fixture.env, 'tail', 'subscriptions', '--since', since, '--limit', '1'))
        .key;
    expect(await first('10m')).toBe('later');
    expect(await first(new Date(hourAgo).toISOString())).toBe('earlier');
  });

  it('prints JSON that is too deep as text, and continues', async () => {
    const topic = fixture.topic('dead-letter');
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    const producer = testKafka(fixture.env).producer({ allowAutoTopicCreation: false });
    await producer.connect();
    const messages = [deep, '{"a":1}'].map((value) => ({ key: 'k', value, partition: 0 }));
    await producer.send({ topic, messages });
    await producer.disconnect();
    const args = ['tail', 'dead-letter', '--from-beginning', '--limit', '2', '--json', '--reveal'];
    const { out } = await cliUntil(AbortSignal.timeout(15_000), fixture.env, ...args);
    const values = out.split('\n').map((line) => JSON.parse(line).value);
    expect(values).toEqual([deep, { a: 1 }]);
  });

  it('says that the schema registry does not answer, and what to do, exit code 1', async () => {
    const topic = fixture.topic('payment-status');
    const producer = testKafka(fixture.env).producer({ allowAutoTopicCreation: false });
    await producer.connect();
    await producer.send({ topic, messages: [{ key: 'p-1', value: Buffer.from('000000000700', 'hex') }] });
    await producer.disconnect();
    const env = { ...fixture.env, SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' };
    const args = ['payment-status', '--from-beginning', '--limit', '1', '--json'];
    const { exitCode, out, notes } = await cli(env, 'tail', ...args);
    expect([exitCode, JSON.parse(out).value]).toEqual([
      1,
      expect.stringMatching(/^hidden \(its schema could not be fetched[^)]*\)$/),
    ]);
    expect(notes).toMatch(/the schema registry does not answer.*correct SCHEMA_REGISTRY_URL/);
    expect(notes).toContain('1 record(s) are not decoded');
  });

  it('says that a topic does not exist, exit code 2', async () => {
    const { exitCode, notes } = await cli(fixture.env, 'tail', 'nothing');
    expect([exitCode, notes]).toEqual([
      2,
      `hookline: no topic is named ${fixture.topic('nothing')} or nothing.`,
    ]);
  });

  it.each([
    ['begins in the future', ['--since', new Date(Date.now() + 3_600_000).toISOString()]],
    ['has no record of its key', ['--from-beginning', '--key', 'nobody']],
  ])('that %s says on standard error that it waits', async (_, options) => {
    const tail = fixture.start('src/cli/main.ts', {}, ['tail', 'commands', ...options]);
    const waits = 'read to the end, 0 record(s) shown: waiting for new ones';
    await until('it says so', () => tail.errors.includes(waits), 30_000);
    tail.kill('SIGINT');
    expect([await tail.end(), tail.lines]).toEqual([0, []]);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('ends at %s, exit code 0', async (signal) => {
    const tail = fixture.start('src/cli/main.ts', {}, ['tail', 'command-results']);
    await until('it follows', () => tail.errors.some((line) => line.startsWith('following')), 30_000);
    tail.kill(signal);
    expect([await tail.end(), tail.lines]).toEqual([0, []]);
  });
});
