import { beforeEach, describe, expect, it } from 'vitest';
import type { Position } from '../../../src/core/record.ts';
import { RefusingTopics, RowSkipped } from '../../../src/delivery/store/refusing-topics.ts';
import { type ManualClock, manualClock } from '../../support/manual-clock.ts';
import { outgoing } from '../../support/scripted-cluster.ts';

const AT: Position = { topic: 't', partition: 0, offset: 0n };
/** Longer than a topic may confirm nothing. */
const STUCK_MS = 3_000;

let clock: ManualClock;
let topics: RefusingTopics;
let confirmed: PromiseWithResolvers<Position>;
/** Rows in the order in which they were sent. */
let sent: number[];

beforeEach(() => {
  clock = manualClock();
  topics = new RefusingTopics(clock, () => {});
  confirmed = Promise.withResolvers();
  sent = [];
});

const record = outgoing('ent-a', 'x');

/** Publishes a row of the key when its object is there. */
const publish = (id: number, object: Promise<void> = Promise.resolve()) =>
  topics
    .inTurn(record, id, async (turn) => {
      await object;
      return topics.publish(record, { id, release() {}, turn }, () => {
        sent.push(id);
        return id === 1 ? confirmed.promise : Promise.resolve(AT);
      });
    })
    .catch((error) => {
      if (!(error instanceof RowSkipped)) throw error;
      return 'skipped';
    });

async function getStuck(): Promise<void> {
  await clock.advance(STUCK_MS);
  expect(topics.isAnyStuck).toBe(true);
}

describe('rows of a topic that takes no records', () => {
  it('are skipped before they wait for an object', async () => {
    void publish(1);
    await getStuck();
    expect(await publish(2, new Promise(() => {}))).toBe('skipped');
    expect(topics.reopen()).toBe(Number.POSITIVE_INFINITY);
    confirmed.resolve(AT);
    await clock.advance(0);
    expect(topics.reopen()).toBe(2);
    expect(topics.isAnyStuck).toBe(false);
  });

  it('do not overtake those that were skipped, although the topic is open when their object is there', async () => {
    const objects = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    void publish(1);
    const second = publish(2, objects[0].promise);
    const third = publish(3, objects[1].promise);
    await getStuck();
    objects[0].resolve();
    expect(await second).toBe('skipped');
    confirmed.resolve(AT);
    await clock.advance(0);
    expect(topics.reopen()).toBe(2);
    objects[1].resolve();
    expect(await third).toBe('skipped');
    expect(sent).toEqual([1]);
    expect(topics.isAnyStuck).toBe(true);
    // One that came meanwhile does not pass those that are to be read again.
    expect(await publish(4)).toBe('skipped');
    expect(topics.reopen()).toBe(3);
    await publish(2);
    await publish(3);
    await publish(4);
    expect(sent).toEqual([1, 2, 3, 4]);
    expect(topics.isAnyStuck).toBe(false);
  });
});
