import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createRandom } from '../../random.ts';
import { buildShim } from '../shim/build-shim.ts';
import { CUTS, cutPower } from './cut-power.ts';
import { Oracle } from './oracle.ts';
import { recordLife } from './record-life.ts';
import type { Script } from './recorded.ts';
import { replay, seenByRecording } from './replay.ts';
import { newSealingKey } from './sealing.ts';

const SCALE = Number(process.env.SCALE ?? 1);
const SEED = Number(process.env.SEED ?? 1);
const LIVES = 3;
const STEPS = 10;

let library: string;
let ram: string;
beforeAll(() => {
  library = buildShim();
  ram = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'hookline-power-'));
});
afterAll(() => rmSync(ram, { recursive: true, force: true }));

const newPlace = () => mkdtempSync(join(ram, 'place-'));
const load = (seed: number, withFaults: boolean): Script => ({
  kind: 'load',
  seed,
  steps: STEPS,
  withFaults,
});

/**
 * Records and replays lives of one folder; each but the last ends with a cut somewhere, on which the next begins. The
 * first has no sealing key: the second seals what it finds.
 */
async function live(seed: number, withFaults: boolean) {
  const place = newPlace();
  const random = createRandom(seed, 'power-loss');
  const promised = new Oracle();
  const key = newSealingKey();
  const total = { states: 0, losses: [] as string[] };
  for (let n = 0; n < LIVES; n++) {
    const sealingKey = n === 0 ? null : key;
    const life = await recordLife(place, library, {
      first: promised.next,
      sealingKey,
      script: load(seed * 100 + n, withFaults),
    });
    expect(seenByRecording(life, ram)).toEqual(life.after);
    const end = n + 1 < LIVES ? 1 + random.below(life.events.length) : life.events.length;
    const { states, losses, model } = replay(life, { seed: seed * 100 + n, promised, ram, sealingKey, end });
    cutPower(model, CUTS[random.below(CUTS.length)] ?? 'nothing', random, join(place, 'disk'));
    total.states += states;
    total.losses.push(...losses);
  }
  console.log(
    `seed ${seed}: ${promised.acked} acknowledged, ${total.states} states, ${total.losses.length} lose`,
  );
  return total;
}

const seeds = Array.from({ length: Math.ceil(SCALE) }, (_, n) => SEED + n);

it.each(seeds)('what was acknowledged outlasts a loss of power at any point (seed %i)', async (seed) => {
  const { states, losses } = await live(seed, false);
  expect(losses).toEqual([]);
  expect(states).toBeGreaterThan(300);
});

it.each(seeds)('and where the disk fails at times besides (seed %i)', async (seed) => {
  const { states, losses } = await live(seed + 1_000, true);
  expect(losses).toEqual([]);
  expect(states).toBeGreaterThan(300);
});

it.each(['append after a failed sync', 'remove again after a failed sync'] as const)('%s', async (kind) => {
  const life = await recordLife(newPlace(), library, { first: 0, script: { kind } });
  expect(life.events.filter((event) => event.kind === 'sync' && event.failed)).not.toEqual([]);
  // The ways of cutting differ from event to event: with five seeds each event meets all.
  for (const seed of [1, 2, 3, 4, 5])
    expect(replay(life, { seed, promised: new Oracle(), ram }).losses).toEqual([]);
});

it.each([
  ['every file', ''],
  ['the log alone, as with synchronous=NORMAL,', '-wal'],
])('a disk that drops the syncs of %s is found out', async (_, lie) => {
  const life = await recordLife(newPlace(), library, { first: 0, script: load(SEED, false), lie });
  expect(replay(life, { seed: SEED, promised: new Oracle(), ram }).losses.length).toBeGreaterThan(10);
});
