import { describe, expect, it } from 'vitest';
import type { RecordReader } from '../../src/avro/record-reader.ts';
import { HooklineError } from '../../src/core/errors.ts';
import type { OutgoingRecord } from '../../src/core/record.ts';
import type { Redelivery } from '../../src/dead-letters/open-redelivery.ts';
import { dryRun, redriveOne } from '../../src/dead-letters/redrive-one.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../src/delivery/dead-letter/dead-letter-headers.ts';
import { deadLetter } from '../support/dead-letter.ts';
import { deliveryParts, headersOf, subscriptionId } from '../support/delivery-parts.ts';

const body = Buffer.from('{"type":"payment_status","entityId":"e-1","payload":{"status":"ACCC"}}');
const COMMANDS = 'payments.commands';
/** The first byte of Avro in Confluent's wire format. */
const avro = Buffer.from([0, 1, 2]);

const readable: RecordReader = async () => ({ commandId: 'c-1' });

/** @param publish called before each record; what it throws is the brokers' answer */
function open({ publish = (_: OutgoingRecord) => {}, readAvro = readable } = {}) {
  const delivery = deliveryParts({ publish });
  const redelivery: Redelivery = {
    delivery,
    send: delivery.publish,
    storing: (send) => (record) => send(record),
    readAvro,
    commandTopics: [COMMANDS],
    abandon() {},
    async stop() {},
  };
  const topics = () => delivery.seen.records.map(({ topic }) => topic);
  return { redelivery, topics, records: delivery.seen.records };
}

function dead(headers: Record<string, string> = {}) {
  const made = deadLetter({ at: '0:7', eventId: 'event', receivedAt: 1_000 });
  return { ...made, headers: { ...made.headers, [NAMES.subscriptionId]: subscriptionId, ...headers } };
}

const command = (headers: Record<string, string> = {}) =>
  dead({ [NAMES.stage]: 'COMMAND', [NAMES.topic]: COMMANDS, ...headers });

describe('a dead-letter record that is redriven', () => {
  it('is marked when its event is stored, with where that is', async () => {
    const { redelivery, topics, records } = open();
    expect(await redriveOne(dead(), body, redelivery)).toMatchObject({
      outcome: 'stored',
      to: 'payments.payment-status[0]@0',
    });
    expect(topics()).toEqual(['payments.payment-status', 'payments.dead-letter']);
    expect(headersOf(records[1] ?? expect.fail())).toMatchObject({
      [NAMES.redriveOf]: '0:7',
      [NAMES.redrivenTo]: 'payments.payment-status[0]@0',
    });
  });

  it.each([
    ['its stage says that it was changed in the spool', dead({ [NAMES.stage]: 'SPOOL' }), body],
    ['its headers do not identify a delivery', dead({ [NAMES.receivedAt]: 'then' }), body],
    ['retention has deleted its body', dead(), undefined],
    ['its command has its result', command({ [NAMES.commandId]: 'c-1' }), avro],
    ['its topic is not among COMMAND_TOPICS', command({ [NAMES.topic]: 'others.commands' }), avro],
    ['it names no topic', command({ [NAMES.topic]: undefined as never }), avro],
    ['it is a command that is not Avro', command(), Buffer.from('{}')],
  ])('stays open where it is refused, as nothing is published: %s', async (_, one, content) => {
    const { redelivery, topics } = open();
    const { outcome, message } = await redriveOne(one, content, redelivery);
    expect({ outcome, message, topics: topics() }).toEqual({
      outcome: 'refused',
      message: expect.any(String),
      topics: [],
    });
  });

  it('is a command that is stored in its own topic, where it can be read now', async () => {
    const { redelivery, topics, records } = open();
    expect(await redriveOne(command(), avro, redelivery)).toMatchObject({ outcome: 'stored' });
    expect(topics()).toEqual([COMMANDS, 'payments.dead-letter']);
    expect(records[0]).toMatchObject({ value: avro, key: Buffer.from('event') });
  });

  it('stays open as a command that still cannot be read, and says why', async () => {
    const readAvro = () => Promise.reject(new Error('no schema 7'));
    const { redelivery, topics } = open({ readAvro });
    const { outcome, message } = await redriveOne(command(), avro, redelivery);
    expect({ outcome, message, topics: topics() }).toEqual({
      outcome: 'refused',
      message: 'it still cannot be read: no schema 7',
      topics: [],
    });
  });

  it.each([
    ['is empty', { commandId: '' }],
    ['has a space', { commandId: 'a b' }],
    ['has more than 200 characters', { commandId: 'a'.repeat(201) }],
    ['is missing, as it is the record of another schema', { eventId: 'e-1' }],
  ])('stays open as a command that would be dead-lettered again: its commandId %s', async (_, fields) => {
    const { redelivery, topics } = open({ readAvro: async () => fields });
    const { outcome, message } = await redriveOne(command(), avro, redelivery);
    expect({ outcome, message, topics: topics() }).toEqual({
      outcome: 'refused',
      message: expect.stringContaining('no commandId'),
      topics: [],
    });
  });

  it('has failed where the brokers do not confirm its event', async () => {
    const { redelivery, topics } = open({
      publish() {
        throw new HooklineError('PUBLISH_DEADLINE');
      },
    });
    const { outcome, code, message } = await redriveOne(dead(), body, redelivery);
    expect({ outcome, code, topics: topics() }).toEqual({
      outcome: 'failed',
      code: 'PUBLISH_DEADLINE',
      topics: [],
    });
    expect(message).not.toContain('stored as');
  });

  it('has failed where they do not confirm its marker, and says where its event is stored', async () => {
    const { redelivery } = open({
      publish({ topic }) {
        if (topic === 'payments.dead-letter') throw new HooklineError('PUBLISH_DEADLINE');
      },
    });
    expect(await redriveOne(dead(), body, redelivery)).toMatchObject({
      outcome: 'failed',
      message: expect.stringMatching(
        /^stored as payments\.payment-status\[0\]@0, but not marked as redriven: /,
      ),
    });
  });

  it.each([
    ['its body is sealed', new HooklineError('BODY_SEALED'), 'BODY_SEALED'],
    ['BODY_STORE is not set', new Error('set BODY_STORE'), undefined],
  ])('has failed where its body cannot be read now: %s', async (_, why, code) => {
    const { redelivery, topics } = open();
    const failed = await redriveOne(dead(), why, redelivery);
    expect({ outcome: failed.outcome, code: failed.code, topics: topics() }).toEqual({
      outcome: 'failed',
      code,
      topics: [],
    });
    expect(failed.message).toContain(why.message);
    expect(failed.message).toContain('(hookline dlq dismiss --filter at=0:7 --reason WHY)');
  });

  it('is published nowhere in a dry run, which says what would become of it', async () => {
    const { redelivery, topics } = open();
    expect(await redriveOne(dead(), body, dryRun(redelivery))).toMatchObject({
      outcome: 'stored',
      to: 'payments.payment-status',
    });
    expect(await redriveOne(command(), avro, dryRun(redelivery))).toMatchObject({
      outcome: 'stored',
      to: COMMANDS,
    });
    expect(topics()).toEqual([]);
  });
});
