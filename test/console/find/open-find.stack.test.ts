import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createWriterReader } from '../../../src/avro/record-reader.ts';
import { CLI_GROUPS, connectKafka, connectRegistry, loadConfig } from '../../../src/cli/shell/connections.ts';
import { createMask } from '../../../src/cli/shell/mask.ts';
import { nodeSource } from '../../../src/config/env.ts';
import { type Find, openFind } from '../../../src/console/find/open-find.ts';
import { Turns } from '../../../src/console/index/turns.ts';
import { cliJson } from '../../support/cli.ts';
import { ENCRYPTION_KEY, ReceiverFixture, receiptOf } from '../../support/receiver-fixture.ts';
import { postSigned } from '../../support/sign.ts';
import { testKafka } from '../../support/topic-reader.ts';
import { until } from '../../support/until.ts';

let receiver: ReceiverFixture;
const opened: Find[] = [];

beforeAll(async () => {
  receiver = await ReceiverFixture.make(inject('stack'));
});

afterAll(async () => {
  await Promise.all(opened.map((find) => find.stop()));
  await receiver[Symbol.asyncDispose]();
});

const config = () => loadConfig({ source: nodeSource(receiver.fixture.env) }, ...CLI_GROUPS, 'commands');

function open(options: { indexDir?: string; indexMaxBytes?: number } = {}): Find {
  const find = openFind({
    kafka: connectKafka(config()),
    turns: new Turns(),
    prefix: receiver.fixture.prefix,
    commandTopics: [receiver.fixture.topic('commands')],
    read: createWriterReader(connectRegistry(config())),
    indexDir: options.indexDir,
    indexMaxBytes: options.indexMaxBytes ?? 64 * 1024 ** 2,
    onFailure: (topic, error) => console.log(`${topic}: ${error.message}`),
  });
  opened.push(find);
  return find;
}

const mask = () => createMask(config(), false);

/** Everything that the topics hold is in the index. */
const isCurrent = (find: Find) => {
  const coverage = find.coverage().coverage;
  const isRead = ({ partitions }: (typeof coverage)[number]) =>
    partitions.length > 0 && partitions.every(({ next, end }) => next === end);
  return coverage.length > 5 && coverage.every(isRead);
};

async function story(find: Find, wanted: string, lines: number) {
  const told = await until(`the story of ${wanted} has ${lines} lines`, async () => {
    const { lines: seen } = await find.story(wanted, mask());
    return seen.length >= lines && seen;
  });
  return told.map(({ step, at }) =>
    at ? `${step} ${at.topic.replace(`${receiver.fixture.prefix}.`, '')}` : step,
  );
}

describe('the console finds', () => {
  let eventId: string;
  let entityId: string;

  it('the whole story of an event that was dead-lettered, redriven and delivered again', async () => {
    const find = open();
    receiver.fixture.secrets('ledger-eu', { 'encryption-key': 'n'.repeat(32) });
    let message = '';
    // The key that ingress has now opens nothing, as soon as it has taken that up.
    await until('a webhook is dead-lettered', async () => {
      const execution = await receiver.trigger1({ event: 'payment-status', sealed: true });
      ({ eventId } = receiptOf(execution));
      ({ entityId, sentBody: message } = execution);
      const records = await receiver.fixture.read('dead-letter', 0);
      return records.some(({ key }) => key === eventId);
    });
    expect(await story(find, eventId, 2)).toEqual(['received', 'dead-lettered dead-letter']);
    receiver.fixture.secrets('ledger-eu', { 'encryption-key': ENCRYPTION_KEY });
    const [redriven] = await cliJson<{ eventId: string }[]>(receiver.fixture.env, 'dlq', 'redrive');
    expect(await story(find, eventId, 3)).toEqual([
      'received',
      'dead-lettered dead-letter',
      'marked as redriven dead-letter',
    ]);
    // What could not be opened had the id of its ciphertext.
    eventId = redriven?.eventId ?? eventId;
    expect(await story(find, eventId, 2)).toEqual(['received', 'redriven payment-status']);
    await postSigned(`${receiver.ingress.url}/webhooks/ledger-eu`, receiver, message);
    expect(await story(find, eventId, 4)).toEqual([
      ...['received', 'redriven payment-status'],
      ...['received', 'stored payment-status'],
    ]);
    const { lines } = await find.story(entityId, mask());
    expect(lines.map(({ what }) => what).join('\n')).toContain(eventId);
    expect((await find.story('ledger-eu', mask())).lines.length).toBeGreaterThan(3);
    expect((await find.story('nothing-of-this', mask())).lines).toEqual([]);
  });

  it('with an index that outlives a restart, and begins where it ended', async () => {
    const indexDir = join(receiver.fixture.dir, 'index');
    mkdirSync(indexDir);
    const first = open({ indexDir });
    await until('the index is current', () => isCurrent(first));
    await first.stop();
    const second = open({ indexDir });
    await until('coverage is known', () =>
      second.coverage().coverage.some(({ partitions }) => partitions.length > 0),
    );
    expect(await story(second, eventId, 2)).toContain('redriven payment-status');
    const other = receiptOf(await receiver.trigger1({ event: 'payment-status' }));
    expect(await story(second, other.eventId, 2)).toEqual(['received', 'stored payment-status']);
    await second.stop();
  });

  it('what the index does not hold by a scan, which says how far it is', async () => {
    // An index of no size: it begins at the end of each topic.
    const find = open({ indexMaxBytes: 0 });
    expect(find.scan(eventId, 'vera')).toMatchObject({ status: 'running', read: 0 });
    await until('coverage is known', () => isCurrent(find));
    const payments = find.coverage().coverage.find(({ topic }) => topic.endsWith('.payment-status'));
    expect(payments).toMatchObject({ kind: 'event', failure: null });
    expect(payments?.partitions.every(({ first, end }) => first === end)).toBe(true);
    const { scan, lines } = await until('the scan is done', async () => {
      const told = await find.story(eventId, mask());
      return told.scan?.status === 'done' && told;
    });
    expect(scan).toMatchObject({ status: 'done', read: scan?.total, message: null });
    expect(lines.map(({ step }) => step)).toContain('redriven');
    await find.stop();
  });

  it('a command', async () => {
    const { fixture } = receiver;
    const find = open();
    const commandId = 'c-find-me';
    const producer = testKafka(fixture.env).producer();
    await producer.connect();
    const value = JSON.stringify({ commandId, type: 'subscription.list', ref: 'x', issuedBy: 'me' });
    const send = () => producer.send({ topic: fixture.topic('commands'), messages: [{ key: 'x', value }] });
    await send();
    expect(await story(find, commandId, 1)).toEqual(['command commands']);
    await producer.disconnect();
  });
});
