import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { LOCAL_DIR } from '../stack/start-stack.ts';
import { cliJson } from '../support/cli.ts';
import { callJudges, type Judges, unwrapUnions } from '../support/judges/judges.ts';
import { leavesOf } from '../support/leaves.ts';
import { ReceiverFixture, receiptOf } from '../support/receiver-fixture.ts';
import { ROOT } from '../support/source-tree.ts';

let receiver: ReceiverFixture;
let judges: Judges;

beforeAll(async () => {
  const stack = inject('stack');
  [receiver, judges] = await Promise.all([ReceiverFixture.make(stack), callJudges(process.env, LOCAL_DIR)]);
});

afterAll(() => receiver[Symbol.asyncDispose]());

/** Where the decoded record holds what stands at a leaf of the delivered message. */
const pathInRecord = (leaf: string) => leaf.replace(/^\/payload/, '');

describe('an event in Kafka', () => {
  it('holds every leaf of the delivered JSON, and its exact bytes, read by tools that know nothing of Hookline', async () => {
    const overrides = { '/payload/note': 'Zürich – ✓', '/payload/amount': 1.1 };
    const execution = await receiver.trigger1({ event: 'payment-status', transactions: 3, set: overrides });
    const [seen] = (await receiver.fixture.read('payment-status')).filter(
      ({ key }) => key === execution.entityId,
    );
    const { partition, offset } = seen ?? expect.fail('not in its topic');
    const topic = receiver.fixture.topic('payment-status');
    const judged = await judges.consume({ brokers: inject('brokers').join(','), topic, partition, offset });
    const schema = readFileSync(join(ROOT, 'schemas/events/payment-status.avsc'), 'utf8');
    const record = unwrapUnions(await judges.decode(schema, judged.value.subarray(5))) as Record<
      string,
      unknown
    >;

    expect(judged.key).toBe(execution.entityId);
    expect(record.source).toBe(execution.sentBody);
    const decoded = leavesOf(record);
    const delivered = leavesOf(JSON.parse(execution.sentBody));
    for (const untyped of Object.keys(overrides)) delivered.delete(untyped);
    expect(delivered.size).toBeGreaterThan(25);
    for (const [leaf, value] of delivered) expect(decoded.get(pathInRecord(leaf)), leaf).toEqual(value);

    const { eventId } = receiptOf(execution);
    expect(record).toMatchObject({ eventId, subscription: 'ledger-eu' });
    expect(judged.headers.split(',')).toEqual(
      expect.arrayContaining([
        `ce_id:${eventId}`,
        'ce_source:/webhooks/ledger-eu',
        'ce_type:payment-status',
        'ce_specversion:1.0',
        `ce_subject:${execution.entityId}`,
        'content-type:application/avro',
      ]),
    );
  });

  it('is shown by hookline tail as it is', async () => {
    const execution = await receiver.trigger1({ event: 'payment-status' });
    const tail = [
      'tail',
      'payment-status',
      '--from-beginning',
      '--key',
      execution.entityId,
      '--limit',
      '1',
      '--reveal',
    ];
    const shown = await cliJson<{ value: Record<string, unknown>; headers: Record<string, string> }>(
      receiver.fixture.env,
      ...tail,
    );
    expect(shown.value.source).toBe(execution.sentBody);
    const decoded = leavesOf(shown.value);
    for (const [leaf, value] of leavesOf(JSON.parse(execution.sentBody)))
      expect(decoded.get(pathInRecord(leaf)), leaf).toEqual(value);
    expect(shown.headers.ce_id).toBe(receiptOf(execution).eventId);
  });

  it.each([
    ['payment-status', 'hyphen', false],
    ['payment-status', 'underscore', false],
    ['payment-status', 'underscore', true],
    ['accounts-entries', 'hyphen', true],
    ['collection-status', 'hyphen', false],
  ])(
    'of the type %s, spelled with a %s, sealed: %s, is in the topic of its type',
    async (event, spelling, sealed) => {
      const execution = await receiver.trigger1({ event, spelling, sealed });
      expect(execution.status).toBe(200);
      const records = await receiver.fixture.read(event);
      const [seen] = records.filter(({ record }) => record?.eventId === receiptOf(execution).eventId);
      expect(seen?.record).toMatchObject({ source: execution.sentBody, entityId: execution.entityId });
      expect(seen?.record?.type).toBe(JSON.parse(execution.sentBody).type);
    },
  );

  it('carries the same event id when the provider sends it again', async () => {
    const execution = await receiver.trigger1({ event: 'payment-status', sealed: true });
    const { eventId } = receiptOf(execution);
    await receiver.call('POST', '/_sandbox/trigger', { rawBody: execution.sentBody, wait: 'final' });
    const records = await receiver.fixture.read('payment-status');
    const same = records.filter(({ record }) => record?.eventId === eventId);
    expect(same).toHaveLength(2);
    expect(same[1]?.record).toEqual({ ...same[0]?.record, receivedAt: expect.any(Number) });
  });

  it('keeps its place: the events of an entity stand in the order of their deliveries', async () => {
    const executions = await receiver.trigger({
      event: 'payment-status',
      count: 200,
      rate: 2_000,
      entities: 5,
      ordered: true,
    });
    const records = await receiver.fixture.read('payment-status', 200);
    for (const entity of new Set(executions.map(({ entityId }) => entityId))) {
      const sent = executions
        .filter(({ entityId }) => entityId === entity)
        .map((one) => receiptOf(one).eventId);
      expect(records.filter(({ key }) => key === entity).map(({ record }) => record?.eventId)).toEqual(sent);
    }
  });
});
