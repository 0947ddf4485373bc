import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cli, cliJson } from '../support/cli.ts';
import type { ControlFixture } from '../support/control-fixture.ts';
import { asAdmin, testKafka } from '../support/topic-reader.ts';
import { type Compared, TwoClusters } from './two-clusters.ts';

const ENTITIES = ['e-1', 'e-2', 'e-3', 'e-4', 'e-5'];
const LARGE = { note: 'x'.repeat(40_000_000) };

type Listed = { at: string; code: string; state: string };

let clusters: TwoClusters;
let the: ControlFixture;
/** The command that nobody had read, and one that had finished. */
const waiting = randomUUID();
const finished = randomUUID();
let subscriptions: { url: string }[];
let largeBefore: string;
let readBefore: number;
let resultsBefore: number;
/** What the comparison says: without topics in the new cluster, with empty ones, and when the old cluster has deleted what was copied. */
let missing: Compared[];
let uncopied: Compared[];
let expired: Compared[];
let lagOfControl: number | null;

const list = () => cliJson<Listed[]>(the.fixture.env, 'dlq', 'list');

const results = async () => (await the.fixture.read('command-results', 0)).length;

async function largeRecord(): Promise<string> {
  const records = await the.fixture.read('payment-status', 1, { values: 'raw' });
  const { value, headers } = records.find(({ key }) => key === 'e-large') ?? {};
  return createHash('sha256')
    .update(value ?? '')
    .update(JSON.stringify(headers))
    .digest('hex');
}

/** Until each partition has one. */
async function deadLetterInEachPartition(): Promise<void> {
  for (let n = 0; n < 40; n++) {
    await the.trigger({ ref: 'kept', rawBody: `{"n":${n}` });
    const topic = the.fixture.topic('dead-letter');
    const offsets = await asAdmin(the.fixture.env, (admin) => admin.fetchTopicOffsets(topic));
    if (offsets.every(({ low, high }) => Number(high) > Number(low))) return;
  }
  throw new Error('a partition has no dead-letter record');
}

async function liveWithTheOldCluster(): Promise<void> {
  for (const ref of ['kept', 'gone'])
    await the.run({ type: 'subscription.create', ref, events: ['payment_status'] });
  await clusters.send('kept', 'RCVD', ['e-0', ...ENTITIES]);
  await deadLetterInEachPartition();
  await clusters.deleteBeginnings(['payment-status', 'commands', 'command-results', 'dead-letter']);
  await the.run({ type: 'subscription.delete', ref: 'gone' });
  await the.run({
    commandId: finished,
    type: 'subscription.create',
    ref: 'other',
    events: ['payment_status'],
  });
  await clusters.send('kept', 'ACTC', ENTITIES);
  await clusters.book(ENTITIES.length);
  await clusters.send('kept', 'ACCP', ENTITIES);
  await clusters.send('kept', 'ACCP', ['e-large'], LARGE);
  await the.trigger({ ref: 'kept', rawBody: '{"type":' });
  const dismissed = await cli(the.fixture.env, 'dlq', 'dismiss', '--reason', 'known', '--by', 'ops');
  expect(dismissed.exitCode, dismissed.notes).toBe(0);
  expect(await list()).toMatchObject([{ code: 'UNPARSABLE', state: 'dismissed' }]);
}

/** A command that its sender took back. */
async function abortCommand(): Promise<void> {
  const producer = testKafka(the.fixture.env).producer({
    transactionalId: the.fixture.prefix,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  const transaction = await producer.transaction();
  const value = JSON.stringify({ commandId: randomUUID(), type: 'subscription.delete', ref: 'kept' });
  await transaction.send({ topic: the.fixture.topic('commands'), messages: [{ key: 'kept', value }] });
  await transaction.abort();
  await producer.disconnect();
}

beforeAll(async () => {
  clusters = await TwoClusters.start();
  the = clusters.the;
  await liveWithTheOldCluster();
  missing = await clusters.compare();
  await clusters.createTopics();
  uncopied = await clusters.compare();
  await using mirrorMaker = await clusters.copy();
  await the.control.stop();
  await the.ingress.process.stop();
  await abortCommand();
  const events = ['payment_status', 'collection_status'];
  await the.send('kept', { commandId: waiting, type: 'subscription.update', ref: 'kept', events });
  subscriptions = await the.subscriptions();
  largeBefore = await largeRecord();
  readBefore = clusters.read;
  resultsBefore = await results();
  await clusters.copied(mirrorMaker);
  lagOfControl = await clusters.lagThere(`${the.fixture.prefix}-control`, 'commands');
  await clusters.deleteBeginnings(['dead-letter']);
  expired = await clusters.compare();
});

// MirrorMaker has ended by now.
beforeAll(() => clusters.startAtNext());

afterAll(() => clusters?.[Symbol.asyncDispose]());

it('before the topics are copied the comparison takes no partition with records for copied', () => {
  const statesIn = (compared: Compared[]) => new Set(compared.map(({ state }) => state));
  expect(missing.map(({ partition }) => partition)).toContain(`${the.fixture.topic('audit')} 1`);
  expect(statesIn(missing)).toEqual(new Set(['cannot be read']));
  expect(statesIn(uncopied)).toEqual(new Set(['differs', 'ends with no record']));
});

it('what the old cluster has deleted since it was copied is not waited for', () => {
  const ofDeadLetters = expired.filter(({ partition }) => partition.startsWith(the.fixture.topic('dead')));
  expect(ofDeadLetters.map(({ state }) => state)).toEqual(['ends with no record', 'ends with no record']);
});

it('control has the one command before it that it had not read', () => {
  expect(lagOfControl).toBe(1);
});

it('the command that waited is carried out, and none that had finished is again', async () => {
  expect(await the.result(waiting)).toMatchObject({ status: 'SUCCEEDED' });
  const update = (one: { url: string }) =>
    one.url.endsWith('/kept') ? { ...one, events: ['payment-status', 'collection-status'] } : one;
  expect(await the.subscriptions()).toEqual(subscriptions.map(update));
  expect(await results()).toBe(resultsBefore + 1);
});

it('the id of a command that finished in the old cluster is known', async () => {
  const events = ['payment_status'];
  await the.send('new', { commandId: finished, type: 'subscription.create', ref: 'new', events });
  await the.run({ type: 'subscription.list' });
  expect((await the.results(finished)).map(({ status }) => status)).toEqual(['SUCCEEDED', 'DUPLICATE']);
});

it('subscriptions and their keys are known, and agree with the provider', async () => {
  expect(await the.run({ type: 'subscription.list' })).toMatchObject({ status: 'SUCCEEDED', drift: [] });
  expect(await the.state('gone')).toMatchObject({ state: 'RETIRED' });
});

it('consumers go on where they were: they read every event, those of an entity in order, and few twice', async () => {
  await clusters.send('kept', 'ACSC', ENTITIES);
  await clusters.book(3 * ENTITIES.length + 1);
  const all = Object.fromEntries(clusters.booked);
  for (const entity of ENTITIES) expect(all[entity]).toEqual(['ACTC', 'ACCP', 'ACSC']);
  expect(all['e-large']).toEqual(['ACCP']);
  expect(clusters.read - readBefore).toBeLessThan(3 * ENTITIES.length + 1);
});

it('a record of 40 MB is the same to the byte', async () => {
  expect(await largeRecord()).toBe(largeBefore);
});

it('a dead-letter record that was dismissed is open again, and can be redriven', async () => {
  expect(await list()).toMatchObject([{ code: 'UNPARSABLE', state: 'open' }]);
  const redriven = await cli(the.fixture.env, 'dlq', 'redrive', '--json');
  expect(JSON.parse(redriven.out)).toMatchObject([{ outcome: 'dead-lettered', code: 'UNPARSABLE' }]);
});

it('hookline doctor finds nothing', async () => {
  const { exitCode, out } = await cli(the.fixture.env, 'doctor');
  expect(exitCode, out).toBe(0);
});
