import { randomUUID } from 'node:crypto';
import avro from 'avsc';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { cli, cliJson } from '../support/cli.ts';
import { ControlFixture } from '../support/control-fixture.ts';
import { createTopic } from '../support/create-topic.ts';
import { serve } from '../support/serve.ts';
import { asAdmin } from '../support/topic-reader.ts';
import { until } from '../support/until.ts';

type Listed = { at: string; stage: string; state: string; topic: string };
type Redriven = { at: string; outcome: string; to: string | null; message: string | null };

let the: ControlFixture;
let env: Record<string, string | undefined>;
let registry: Awaited<ReturnType<typeof serve>>;
/** Ids that the registry in front of control does not have. */
const hidden = new Set<number>();

beforeAll(async () => {
  the = await ControlFixture.make(inject('stack'));
  env = the.fixture.env;
  registry = await startForgetfulRegistry(inject('registryUrl'));
});

afterAll(async () => {
  await the[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
});

/** The registry, but for the schemas that are hidden: it says of them what it says of ids that it never had. */
const startForgetfulRegistry = (registryUrl: string) =>
  serve(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const id = Number(/\/schemas\/ids\/(\d+)/.exec(request.url ?? '')?.[1]);
    const path = hidden.has(id) ? '/schemas/ids/999999999' : request.url;
    const answer = await fetch(registryUrl + path, {
      method: request.method ?? 'GET',
      headers: { 'content-type': request.headers['content-type'] ?? 'application/json' },
      body: chunks.length > 0 ? Buffer.concat(chunks) : null,
    });
    const type = answer.headers.get('content-type') ?? 'application/json';
    response.writeHead(answer.status, { 'content-type': type }).end(await answer.text());
  });

/** A command in Avro by a team's own schema, which only the registry tells of. */
async function teamsCommand(fields: Record<string, string>) {
  const names = ['commandId', 'type'].map((name) => ({ name, type: 'string' as const }));
  const type = avro.Type.forSchema({
    type: 'record',
    name: 'Command',
    namespace: 'hookline.commands',
    fields: names,
  });
  const answer = await fetch(
    `${env.SCHEMA_REGISTRY_URL}/subjects/${the.fixture.prefix}-team-value/versions`,
    {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
      body: JSON.stringify({ schema: JSON.stringify(type.schema()) }),
    },
  );
  const { id } = (await answer.json()) as { id: number };
  const head = Buffer.alloc(5);
  head.writeInt32BE(id, 1);
  return { id, value: Buffer.concat([head, type.toBuffer(fields)]) };
}

const deadLetters = async () =>
  (await cliJson<Listed[]>(env, 'dlq', 'list', '--filter', 'stage=COMMAND')) ?? [];

/** Sends it, and gives the name of the dead-letter record that it becomes. */
async function sendPoison(value: Buffer | string | object): Promise<string> {
  const before = new Set((await deadLetters()).map(({ at }) => at));
  await the.send(randomUUID(), value);
  const deadLetter = await until(
    'it is a dead-letter record',
    async () => (await deadLetters()).find(({ at }) => !before.has(at)),
    30_000,
  );
  return deadLetter.at;
}

async function redrive(...args: string[]) {
  const { exitCode, out, notes } = await cli(env, 'dlq', 'redrive', '--json', ...args);
  return { exitCode, notes, outcomes: JSON.parse(out) as Redriven[] };
}

describe('a command in the dead-letter topic', () => {
  it('is listed and shown, and no redrive takes it along that does not ask for it', async () => {
    const at = await sendPoison('create a subscription');
    const shown = await cli(env, 'dlq', 'show', at);
    expect(shown.out).toMatch(/cause +the command cannot be read/);
    expect(shown.out).not.toContain('create a subscription');
    expect((await cli(env, 'dlq', 'show', at, '--body')).bytes.toString()).toBe('create a subscription');
    const { exitCode, outcomes, notes } = await redrive();
    expect([exitCode, outcomes, notes]).toEqual([0, [], expect.stringContaining('skipped')]);
  });

  it.each([
    ['text', 'create a subscription', 'it is not Avro'],
    ['broken JSON', '{"type":', 'it is not Avro'],
    ['Avro that nobody can read', Buffer.from('003b9ac9ff00', 'hex'), 'it still cannot be read'],
    [
      'one that has its result',
      { commandId: 'has-its-result', type: 'subscription.pause' },
      'send a corrected command with a new commandId',
    ],
  ])('that is %s is not sent again: it would end the same way', async (_, value, why) => {
    const at = await sendPoison(value);
    const { exitCode, outcomes } = await redrive('--filter', `at=${at}`);
    expect([exitCode, outcomes]).toEqual([
      1,
      [expect.objectContaining({ at, outcome: 'refused', message: expect.stringContaining(why) })],
    ]);
    expect((await deadLetters()).find((deadLetter) => deadLetter.at === at)?.state).toBe('open');
    expect((await cli(env, 'dlq', 'show', at)).out).toMatch(/^remedy +\S/m);
  });

  it('whose schema the registry did not have then goes back to its topic, and is carried out', async () => {
    const commandId = randomUUID();
    const { id, value } = await teamsCommand({ commandId, type: 'subscription.list' });
    hidden.add(id);
    await the.control.stop();
    the.control = await the.fixture.control(the.urls, { SCHEMA_REGISTRY_URL: registry.url });
    const at = await sendPoison(value);
    expect(await the.results(commandId)).toEqual([]);

    hidden.clear();
    await the.control.stop();
    the.control = await the.fixture.control(the.urls);
    const others = the.fixture.topic('commands.others');
    await asAdmin(env, (admin) =>
      createTopic(admin, { topic: others, numPartitions: 1, replicationFactor: 1 }),
    );
    const elsewhere = await cli({ ...env, COMMAND_TOPICS: others }, 'dlq', 'redrive', '--filter', `at=${at}`);
    expect([elsewhere.exitCode, elsewhere.out]).toEqual([
      1,
      expect.stringContaining('not among COMMAND_TOPICS'),
    ]);
    const { exitCode, outcomes } = await redrive('--filter', `at=${at}`);
    expect([exitCode, outcomes]).toEqual([
      0,
      [
        expect.objectContaining({
          at,
          outcome: 'stored',
          to: expect.stringContaining(the.fixture.topic('commands')),
        }),
      ],
    ]);
    expect(await the.result(commandId)).toMatchObject({ status: 'SUCCEEDED' });
    const record = (await the.fixture.read('commands')).filter(
      ({ headers }) => headers['hookline.redriven-from'],
    );
    expect(record.map((one) => one.value)).toEqual([value]);
    const again = await redrive('--filter', `at=${at}`);
    expect([again.exitCode, again.outcomes]).toEqual([0, []]);
  });

  it('is counted as open by the control process that works, and by it alone, until it is dismissed', async () => {
    const open = (await deadLetters()).filter(({ state }) => state === 'open').length;
    expect(open).toBeGreaterThan(2);
    const counted = async ({ control }: Pick<ControlFixture, 'control'>) =>
      /^hookline_dead_letters_open\{stage="COMMAND"\} (\d+)$/m.exec(await control.metrics())?.[1];
    const standby = { control: await the.fixture.control(the.urls) };
    await until('both stand as they do', async () =>
      /^hookline_control_working 0$/m.test(await standby.control.metrics()),
    );
    expect(await counted(standby)).toBeUndefined();
    // What it counts after a takeover is in the topic alone.
    await the.control.stop();
    await until('the other one counts', async () => (await counted(standby)) === String(open), 30_000);
    const dismissed = await cli(env, 'dlq', 'dismiss', '--reason', 'tests', '--filter', 'stage=COMMAND');
    expect([dismissed.exitCode, dismissed.notes]).toEqual([
      0,
      expect.stringContaining(`${open} of ${open}: ${open} dismissed.`),
    ]);
    the.control = await the.fixture.control(the.urls);
    await standby.control.stop();
    await until('none is open', async () => (await counted(the)) === '0', 30_000);
    expect(await the.control.metrics()).toMatch(/^hookline_dead_letters_retention_seconds 2592000$/m);
    expect(await the.control.metrics()).toMatch(/^hookline_dead_letters_open_oldest_seconds 0$/m);
  });
});
