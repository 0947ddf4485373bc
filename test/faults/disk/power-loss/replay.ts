import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createRandom } from '../../random.ts';
import { CUTS, cutPower } from './cut-power.ts';
import { DiskModel } from './disk-model.ts';
import type { Oracle } from './oracle.ts';
import { type Folder, type Life, readFolder, SPOOL } from './record-life.ts';

export type ReplayOptions = {
  readonly seed: number;
  /** What the folder's earlier lives promised; it goes on with this one. */
  readonly promised: Oracle;
  /** That of the life, which the next process has too. */
  readonly sealingKey?: string | null;
  /** A folder that is fast. */
  readonly ram: string;
  /** The event before which this life ends; after its last unless given. */
  readonly end?: number;
};

/** What is wrong with a state, and what builds it again from the recording. */
export type Loss = string;

const STATES_PER_EVENT = 2;

/**
 * Cuts the power after every event of a life, each time with two of the ways of treating what wasn't synced, and judges
 * what the next process finds.
 */
export function replay(
  life: Life,
  options: ReplayOptions,
): { states: number; losses: Loss[]; model: DiskModel } {
  const { seed, promised, ram, sealingKey = null, end = life.events.length } = options;
  const place = mkdtempSync(join(ram, 'cut-'));
  const model = new DiskModel(life.before);
  const losses: Loss[] = [];
  let states = 0;
  for (const [n, event] of life.events.slice(0, end).entries()) {
    if (event.kind === 'mark') {
      promised.hear(event.text);
      continue;
    }
    model.apply(event);
    for (let turn = 0; turn < STATES_PER_EVENT; turn++) {
      const state = n * STATES_PER_EVENT + turn;
      const cut = CUTS[state % CUTS.length] ?? 'nothing';
      cutPower(model, cut, createRandom(seed * 1_000_003 + state, 'power-loss'), place);
      states++;
      const what = promised.judge(join(place, SPOOL), sealingKey);
      if (what !== null) losses.push(`seed ${seed}, event ${n}, of the unsynced ${cut}: ${what}`);
    }
  }
  rmSync(place, { recursive: true });
  return { states, losses, model };
}

/** What a life's process sees at its end, by the recording alone: it must be what really is there. */
export function seenByRecording(life: Life, ram: string): Folder {
  const model = new DiskModel(life.before);
  for (const event of life.events) model.apply(event);
  const place = mkdtempSync(join(ram, 'seen-'));
  cutPower(model, 'everything', createRandom(0, 'power-loss'), place);
  const seen = readFolder(place);
  rmSync(place, { recursive: true });
  return seen;
}
