import { expect, inject, it } from 'vitest';
import { isFault, runSeeds } from './connections/run-seeds.ts';

const SEEDS = 10;

it('the model of Kafka answers as a real broker does, while connections break', async () => {
  const first = Math.floor(Math.random() * 1_000_000);
  for await (const { seed, differences, story } of runSeeds(inject('brokers'), { first, count: SEEDS })) {
    const told = `make simulate-agreement ARGS="--seeds 1 --broker-deaths 0 --seed ${seed}"\n${story.join('\n')}`;
    expect(differences.filter(isFault), told).toEqual([]);
  }
});
