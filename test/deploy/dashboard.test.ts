import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../support/source-tree.ts';

type Panel = { id: number; title: string; gridPos: { x: number; y: number; w: number; h: number } };

const COLUMNS = 24;
const path = 'deploy/helm/hookline/files/dashboard.json';
const { panels } = JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as { panels: Panel[] };

it('no panel lies on another, or beyond the edge; each has an id of its own', () => {
  const taken = new Map<string, string>();
  const faults: string[] = [];
  for (const { title, gridPos } of panels) {
    if (gridPos.x + gridPos.w > COLUMNS) faults.push(`${title} is beyond the edge`);
    for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        const below = taken.get(`${x},${y}`);
        if (below !== undefined) faults.push(`${title} lies on ${below}`);
        taken.set(`${x},${y}`, title);
      }
  }
  expect([...new Set(faults)]).toEqual([]);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
});
