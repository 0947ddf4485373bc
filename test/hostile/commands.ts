import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { commandSchemasIn } from '../../src/avro/command-schemas.ts';
import type { Brokers } from '../support/topics-fixture.ts';
import { type ControlRow, ControlTarget, type Sent } from './control-target.ts';
import { changed, changes } from './fuzz/fuzzed.ts';

/** Control must stay below it, whatever it reads. */
const MOST_MIB = 300;
const AT_ONCE = 1_000;

const { codec } = commandSchemasIn(undefined).command;

/** Attacks a real control process with commands. Each row says what became of them, and of an honest command behind. */
export async function attackControl({
  stack,
  mutations,
  seed,
  log,
}: {
  readonly stack: Brokers;
  readonly mutations: number;
  readonly seed: number;
  readonly log: (line: string) => void;
}): Promise<readonly ControlRow[]> {
  const rows: ControlRow[] = [];
  await using target = await ControlTarget.start(stack);
  const own = await registeredId(target);
  for (const [attack, value] of await poison(target, own)) {
    rows.push(await attackWith(target, attack, [{ key: 'team-a', value }], { allPoison: true }));
    log(lineOf(rows.at(-1) as ControlRow));
  }
  log(`${mutations} mutations of commands, seed ${seed}`);
  rows.push(
    await attackWith(
      target,
      `${mutations} mutations of commands (seed ${seed})`,
      mutated(mutations, seed, own),
      { allPoison: false },
    ),
  );
  log(lineOf(rows.at(-1) as ControlRow));
  return rows;
}

const lineOf = ({ attack, outcome, peakMemoryMiB, ok }: ControlRow) =>
  `${ok ? 'ok    ' : 'FAILED'} ${attack}: ${outcome}, ${peakMemoryMiB} MiB`;

async function attackWith(
  target: ControlTarget,
  attack: string,
  sent: readonly Sent[],
  { allPoison }: { allPoison: boolean },
): Promise<ControlRow> {
  const before = new Set(await target.places());
  try {
    for (let at = 0; at < sent.length; at += AT_ONCE) await target.send(sent.slice(at, at + AT_ONCE));
    await target.done(30_000 + sent.length * 20);
    const honest = await target.honest();
    const places = (await target.places()).filter((place) => !before.has(place));
    const dead = new Set(await target.deadLettered());
    const answered = new Set(
      (await target.results()).map((one) => `${one.commandPartition}:${one.commandOffset}`),
    );
    // The last one is the honest command's.
    const lost = places.filter((place) => !dead.has(place) && !answered.has(place)).length;
    const dropped = places.filter((place) => dead.has(place)).length;
    const peakMemoryMiB = target.peakMiB();
    const isRight = allPoison ? dropped === sent.length : lost === 0;
    return {
      attack,
      outcome: `${dropped} of ${sent.length} dead-lettered, ${lost} without an answer; the next command ${honest}`,
      peakMemoryMiB,
      ok: honest === 'SUCCEEDED' && isRight && lost === 0 && peakMemoryMiB < MOST_MIB,
    };
  } catch (error) {
    return { attack, outcome: (error as Error).message, peakMemoryMiB: Number.NaN, ok: false };
  }
}

async function registeredId({ fixture: { env, prefix } }: ControlTarget): Promise<number> {
  const answer = await fetch(`${env.SCHEMA_REGISTRY_URL}/subjects/${prefix}.commands-value/versions/latest`);
  return Number(((await answer.json()) as { id: number }).id);
}

/** Registers a schema as a team may, which control must read its commands by. */
async function register({ fixture: { env, prefix } }: ControlTarget, fields: object[]): Promise<number> {
  const schema = { type: 'record', name: 'Command', namespace: 'hookline.commands', fields };
  const subject = `${prefix}-team-${randomUUID()}-value`;
  const answer = await fetch(`${env.SCHEMA_REGISTRY_URL}/subjects/${subject}/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schema: JSON.stringify(schema) }),
  });
  const { id } = (await answer.json()) as { id?: number };
  if (id === undefined) throw new Error(`the registry answered ${answer.status}`);
  return id;
}

const head = (id: number) => {
  const bytes = Buffer.alloc(5);
  bytes.writeInt32BE(id, 1);
  return bytes;
};

function long(value: number): Buffer {
  const bytes: number[] = [];
  let zigzag = value < 0 ? -2n * BigInt(value) - 1n : 2n * BigInt(value);
  for (; zigzag > 127n; zigzag >>= 7n) bytes.push(Number(zigzag & 127n) | 128);
  return Buffer.from([...bytes, Number(zigzag)]);
}

const text = (value: string) => Buffer.concat([long(Buffer.byteLength(value)), Buffer.from(value)]);
const HUGE = 2 ** 30;

/** Poison by name: claims that the bytes do not bear, under our own schema and under others. */
async function poison(target: ControlTarget, own: number): Promise<[string, Buffer][]> {
  const identity = () => Buffer.concat([text(randomUUID()), text('subscription.list')]);
  const ids = ['commandId', 'type'].map((name) => ({ name, type: 'string' }));
  const foreign = async (type: unknown, ...tail: Buffer[]) => {
    const id = await register(target, [...ids, { name: 'foreign', type }]);
    return Buffer.concat([head(id), identity(), ...tail]);
  };
  const nulls = { type: 'array', items: 'null' };
  const deep = JSON.stringify({ commandId: randomUUID(), type: 'subscription.list' });
  return [
    [
      '14 bytes that claim 2^30 events',
      Buffer.concat([head(own), Buffer.from('000000', 'hex'), long(1), long(HUGE)]),
    ],
    [
      '2^30 events in a block with a size',
      Buffer.concat([head(own), identity(), long(0), long(1), long(-HUGE), long(8)]),
    ],
    ['a string of 2^40 bytes', Buffer.concat([head(own), long(2 ** 40)])],
    ['2^30 nulls, skipped', await foreign(nulls, long(HUGE), long(0))],
    ['blocks of nulls, skipped', await foreign(nulls, ...Array<Buffer>(5_000).fill(long(1_000)), long(0))],
    [
      'a block that leads back to itself, skipped',
      await foreign({ type: 'array', items: 'int' }, long(-1), long(-4), long(7), long(0)),
    ],
    [
      'empty records, skipped',
      await foreign({ type: 'array', items: { type: 'record', name: 'E', fields: [] } }, long(HUGE), long(0)),
    ],
    ['fields that double forty times', await foreign(doubling(40))],
    [
      'half a million levels of JSON',
      Buffer.from(`${deep.slice(0, -1)},"extra":${'['.repeat(450_000)}${']'.repeat(450_000)}}`),
    ],
    [
      '300,000 objects of JSON',
      Buffer.from(`${deep.slice(0, -1)},"extra":{"a":[${'{},'.repeat(300_000)}{}]}}`),
    ],
    ['JSON that is cut off', Buffer.from(deep.slice(0, -1))],
  ];
}

function doubling(levels: number): unknown {
  let type: unknown = { type: 'record', name: 'L0', fields: [] };
  for (let n = 1; n <= levels; n++)
    type = {
      type: 'record',
      name: `L${n}`,
      fields: [
        { name: 'a', type },
        { name: 'b', type: `L${n - 1}` },
      ],
    };
  return type;
}

/** Valid commands that change nothing at the provider, each changed at random: Avro and JSON in turn. */
function mutated(count: number, seed: number, own: number): Sent[] {
  return fc.sample(changes, { seed, numRuns: count }).map((by, n) => {
    const command = {
      commandId: `m-${seed}-${n}`,
      type: ['subscription.delete', 'subscription.update', 'webhook.replay'][n % 3] as string,
      ref: `team-${n % 50}`,
      events: n % 2 === 0 ? ['payment_status', 'accounts-entries'] : null,
      executionIds: n % 3 === 2 ? ['run-1', 'run-2'] : null,
      extra: n % 5 === 0 ? '{"a":[1,{"b":"c"}]}' : null,
      issuedBy: 'a team',
      issuedAt: null,
      expiresAt: null,
      dryRun: false,
      ifMatch: null,
    };
    const asAvro = codec.encode(command, own, 128);
    const whole = n % 2 === 0 ? asAvro : Buffer.from(JSON.stringify(command));
    return { key: n % 7 === 0 ? null : command.ref, value: changed(whole, by) ?? whole };
  });
}
