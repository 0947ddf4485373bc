import type { Life } from './compare-counters.ts';

/**
 * One life of each process, also where it was scraped several times: by a pair of Prometheus servers, by two jobs, or at two addresses.
 * Each scraper has gaps of its own, so the earliest first scrape and the latest last one hold.
 */
export function mergeLives(lives: readonly Life[]): Life[] {
  const merged: Life[] = [];
  for (const life of lives) {
    const at = merged.findIndex((other) => isSameProcess(other, life));
    const other = merged[at];
    if (other) merged[at] = together(other, life);
    else merged.push(life);
  }
  return merged;
}

/** A pod, or an address, has one process at a time. */
function isSameProcess(a: Life, b: Life): boolean {
  if (a.owner !== b.owner || a.startedAt !== b.startedAt) return false;
  return a.startedAt !== null || (a.first.at <= b.last.at && b.first.at <= a.last.at);
}

function together(a: Life, b: Life): Life {
  const bases = [a.base, b.base].filter((base) => base !== null).sort((one, other) => one.at - other.at);
  return {
    ...a,
    base: bases[0] ?? null,
    first: a.first.at <= b.first.at ? a.first : b.first,
    last: a.last.at >= b.last.at ? a.last : b.last,
    hasEnded: a.hasEnded || b.hasEnded,
  };
}
