import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LargeBody, makeLargeBodies, type Shape } from '../../bench/large/bodies.ts';
import { SUBSCRIPTION } from '../../bench/load/bodies.ts';
import type { RunningStore } from '../../support/object-store/s3-bucket.ts';
import type { RunningProcess } from '../../support/running-process.ts';
import { setTopicBytes } from '../../support/topic-config.ts';
import { type Brokers, Fixture } from '../../support/topics-fixture.ts';

export const REF = 'ledger-eu';

export type Reference = { uri: string; bytes: number; sha256: string; omitted: string[] };
export type StoredEvent = {
  entityId: string;
  source: string | null;
  sourceRef: Reference | null;
  status: string | null;
};

/** Topics of so many bytes a record, and the keys of the senders' subscription. */
export async function bodiesFixture(stack: Brokers, topicBytes: number): Promise<Fixture> {
  const fixture = await Fixture.make(stack, { partitions: 6 });
  fixture.secrets(REF, {
    'subscription-id': SUBSCRIPTION.subscriptionId,
    'signing-secret': SUBSCRIPTION.signingSecret,
    'encryption-key': SUBSCRIPTION.encryptionKey,
  });
  for (const topic of ['payment-status', 'unclassified', 'dead-letter'])
    await setTopicBytes(fixture.env, fixture.topic(topic), topicBytes);
  return fixture;
}

export const bodiesOf = (count: number, shape: Shape): LargeBody[] => makeLargeBodies(count, shape);

/** The most memory that the process ever had, in bytes. Linux only. */
export function peakRss({ pid }: RunningProcess): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1_024;
}

/** The events of the topic, by entity. */
export async function eventsByEntity(fixture: Fixture, atLeast: number): Promise<Map<string, StoredEvent[]>> {
  const seen = await fixture.read('payment-status', atLeast, { deadlineMs: 120_000 });
  const events = seen.map(({ record }) => record as unknown as StoredEvent);
  return Map.groupBy(events, ({ entityId }) => entityId);
}

/** Bodies whose event is not there, is not typed, or whose object has other bytes. */
export async function faultsOf(
  bodies: readonly LargeBody[],
  events: ReadonlyMap<string, readonly StoredEvent[]>,
  store: RunningStore,
): Promise<string[]> {
  const faults: string[] = [];
  for (const { entityId, digest } of bodies) {
    const [event] = events.get(entityId) ?? [];
    if (!event) faults.push(`${entityId}: no event`);
    else if (event.status !== 'ACCC' || event.source !== null || !event.sourceRef)
      faults.push(`${entityId}: ${JSON.stringify({ ...event, source: event.source?.length })}`);
    else {
      const object = await fetch(`${store.endpoint}/${event.sourceRef.uri.slice('s3://'.length)}`);
      const bytes = Buffer.from(await object.arrayBuffer());
      const is = createHash('sha256').update(bytes).digest('hex');
      if (is !== digest || event.sourceRef.sha256 !== digest || event.sourceRef.bytes !== bytes.length)
        faults.push(`${entityId}: its object differs`);
    }
  }
  return faults;
}

export const spoolDir = (fixture: Fixture): string => join(fixture.dir, 'spool');
