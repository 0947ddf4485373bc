import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Random } from '../../random.ts';
import { contentOf, type DiskFile, type DiskModel, type Entry, type Step } from './disk-model.ts';

/** What of the unsynced changes the disk has when the power is cut. */
export const CUTS = ['nothing', 'everything', 'some', 'torn', 'the last one torn'] as const;
export type Cut = (typeof CUTS)[number];

/** Builds in `target` the folder as the disk may have it after a cut now. */
export function cutPower(model: DiskModel, cut: Cut, random: Random, target: string): void {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  // What a file holds where it was made longer and not written: nothing, or what lay there before.
  const stale = random.chance(0.5) ? 0 : 0xa5;
  const entries = entriesAfter(model, cut, random);
  for (const [path, entry] of [...entries].sort(([a], [b]) => a.length - b.length)) {
    // What lies in a folder that the disk doesn't have is nowhere.
    if (!existsSync(join(target, dirname(path)))) continue;
    if (entry === 'folder') mkdirSync(join(target, path));
    else writeFileSync(join(target, path), contentOf(entry, keeper(entry, cut, random), stale));
  }
}

/** The entries of one name reach the disk in their order; those of different names in any. */
function entriesAfter(model: DiskModel, cut: Cut, random: Random): Map<string, Entry> {
  const entries = new Map(model.stored);
  const missed = new Set<string>();
  for (const { path, to } of model.unsynced) {
    const reached = cut === 'everything' || (cut !== 'nothing' && random.chance(0.5));
    if (!reached) missed.add(path);
    if (missed.has(path)) continue;
    if (to === null) entries.delete(path);
    else entries.set(path, to);
  }
  return entries;
}

function keeper(file: DiskFile, cut: Cut, random: Random): (step: Step, sector: number) => boolean {
  const last = file.steps.findLast(({ fate }) => fate !== 'stored');
  const whole = new Map<Step, boolean>();
  const some = (step: Step) => {
    const kept = whole.get(step) ?? random.chance(0.5);
    whole.set(step, kept);
    return kept;
  };
  const torn = new Map<Step, boolean>();
  const isTorn = (step: Step) => {
    const is = torn.get(step) ?? random.chance(0.5);
    torn.set(step, is);
    return is;
  };
  const ways: Record<Cut, (step: Step) => boolean> = {
    nothing: () => false,
    everything: () => true,
    some,
    torn: (step) => (isTorn(step) ? random.chance(0.5) : some(step)),
    'the last one torn': (step) => step !== last || random.chance(0.5),
  };
  return ways[cut];
}
