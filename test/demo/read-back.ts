import type { ControlFixture } from '../support/control-fixture.ts';
import { leavesOf } from '../support/leaves.ts';
import type { SeenRecord } from '../support/topic-reader.ts';
import { until } from '../support/until.ts';
import type { Sent } from './deliver-all.ts';

/** A delivery and the records that came of it. */
export type Row = {
  readonly sent: Sent;
  readonly topic: string | null;
  readonly records: readonly SeenRecord[];
  readonly faults: readonly string[];
};

const TOPICS = ['payment-status', 'accounts-entries', 'collection-status', 'unclassified', 'dead-letter'];

/** Finds every delivery in Kafka, and holds it against the contract. */
export async function readBack(the: ControlFixture, sent: readonly Sent[]): Promise<Row[]> {
  const expected = new Map(sent.map(({ eventId, expected }) => [eventId, expected.records]));
  const total = [...expected.values()].reduce((sum, count) => sum + count, 0);
  const all = await until('all events are there', async () => {
    const read = await Promise.all(
      TOPICS.map(async (topic) => (await the.fixture.read(topic, 0)).map((record) => ({ topic, record }))),
    );
    return read.flat().length >= total && read.flat();
  });
  return sent.map((one) => {
    const found = all.filter(({ record }) => idOf(record) === one.eventId && one.eventId !== null);
    const topic = found[0]?.topic ?? null;
    const records = found.map(({ record }) => record);
    return { sent: one, topic, records, faults: faultsOf(one, topic, records, all.length === total) };
  });
}

const idOf = ({ record, headers }: SeenRecord) => record?.eventId ?? headers['hookline.event-id'];

function faultsOf(
  sent: Sent,
  topic: string | null,
  records: readonly SeenRecord[],
  isAll: boolean,
): string[] {
  const { expected } = sent;
  const faults: string[] = [];
  const check = (holds: boolean, fault: string) => {
    if (!holds) faults.push(fault);
  };
  check(sent.answers.join() === expected.answers.join(), `answered ${sent.answers}, not ${expected.answers}`);
  check(topic === expected.topic, `is in ${topic}, not in ${expected.topic}`);
  check(records.length === expected.records, `is there ${records.length} times, not ${expected.records}`);
  check(isAll, 'there are records that nobody sent');
  if (topic !== null && topic !== 'dead-letter') {
    for (const { record } of records) {
      check(record?.source === sent.message, 'its source is not the message, byte for byte');
      check(typedLeavesAgree(record, sent.message), 'a decoded field is not what was delivered');
    }
  }
  return faults;
}

/** Every typed field of the record stands in the message, with the same value. */
function typedLeavesAgree(record: SeenRecord['record'], message: string): boolean {
  const delivered = leavesOf(JSON.parse(message));
  const typed = [...leavesOf({ status: record?.status, pacs002: record?.pacs002 })];
  return typed.every(
    ([path, value]) => value === undefined || value === null || delivered.get(`/payload${path}`) === value,
  );
}
