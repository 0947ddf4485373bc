import { expect, inject, it } from 'vitest';
import { isFault, runSeeds } from './connections/run-seeds.ts';

/** The same ones each time: new ones are for `make simulate-agreement`. */
const FIRST = 1;
const SEEDS = 10;

it('the model of Kafka answers as a real broker does, while connections break', async () => {
  for await (const { seed, differences, story } of runSeeds(inject('brokers'), {
    first: FIRST,
    count: SEEDS,
  })) {
    const told = `make simulate-agreement ARGS="--seeds 1 --broker-deaths 0 --seed ${seed}"\n${story.join('\n')}`;
    expect(differences.filter(isFault), told).toEqual([]);
  }
});
