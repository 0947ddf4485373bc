import { expect, it } from 'vitest';
import { batchOf } from './batch-of.ts';
import { CODES, Partition, type ProduceAnswer } from './partition.ts';
import { readBatch } from './record-batch.ts';

const alive = () => true;

function start() {
  const partition = new Partition('t', 0, { replicas: [1, 2, 3], minIsr: 2 });
  const answers: ProduceAnswer[] = [];
  const append = (broker: number, value: string) =>
    partition.append(broker, batchOf('k', value), { epoch: partition.epoch, order: 0, acks: -1 }, (answer) =>
      answers.push(answer),
    );
  const kept = () =>
    partition.kept.flatMap(({ batch }) => readBatch(batch).map((record) => `${record.value}`));
  return { partition, answers, append, kept };
}

it('answers when all in-sync replicas have a batch', () => {
  const { partition, answers, append, kept } = start();
  append(1, 'a');
  partition.catchUp(2);
  partition.complete();
  expect(answers).toEqual([]);
  partition.catchUp(3);
  partition.complete();
  expect(answers).toEqual([{ code: CODES.NONE, base: 0 }]);
  expect(kept()).toEqual(['a']);
});

it('keeps what was answered, and drops what only a leader had that is no longer one', () => {
  const { partition, answers, append, kept } = start();
  append(1, 'a');
  for (const follower of [2, 3]) partition.catchUp(follower);
  partition.complete();
  append(1, 'lost');
  partition.fence(1, (broker) => broker !== 1);
  expect([partition.leader, partition.epoch, [...partition.isr]]).toEqual([2, 1, [2, 3]]);
  partition.resign(1);
  append(2, 'b');
  for (const follower of [1, 3]) partition.catchUp(follower);
  partition.complete();
  expect(answers.map(({ code }) => code)).toEqual([CODES.NONE, CODES.NOT_LEADER_OR_FOLLOWER, CODES.NONE]);
  expect(kept()).toEqual(['a', 'b']);
  expect(partition.log(1)).toEqual(partition.log(2));
});

it('takes nothing without enough in-sync replicas, and the last of them alone may lead', () => {
  const { partition, append } = start();
  partition.fence(2, alive);
  partition.fence(3, alive);
  expect(append(1, 'a')).toBe(CODES.NOT_ENOUGH_REPLICAS);
  partition.fence(1, () => false);
  expect([partition.leader, [...partition.isr]]).toEqual([-1, [1]]);
  partition.elect((broker) => broker !== 1);
  expect(partition.leader).toBe(-1);
  partition.elect(alive);
  expect(partition.leader).toBe(1);
});
