import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../support/source-tree.ts';

type Panel = {
  id: number;
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string }[];
};

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

/** Labels whose values all begin at 0 when a process starts, so that an alert sees the first event. */
const BORN_AT_ZERO = /sum by \((?:.*, )?(?:status|code|stage|outcome)\)/;

it('no legend is full of what was zero all along: such a series is there where something was counted', () => {
  const drawn = panels
    .filter(({ type }) => type === 'timeseries')
    .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const counts = drawn.filter((expr) => BORN_AT_ZERO.test(expr));
  expect(counts.length).toBeGreaterThan(4);
  for (const expr of counts) expect(expr).toMatch(/ and sum by .*\[\$__range\] @ end\(\)\)\) > 0$/);
});

/** Their series begin with the first command of a type, or the first request of an operation, which no rate sees. */
const BORN_WITH_THE_FIRST = ['hookline_command_seconds', 'hookline_provider_request_seconds'];

it.each(BORN_WITH_THE_FIRST)(
  '%s is drawn from its first value on: there may be none but one for days',
  (name) => {
    const drawn = panels.flatMap(({ targets = [] }) => targets).filter(({ expr }) => expr.includes(name));
    expect(drawn).toHaveLength(1);
    for (const { expr } of drawn)
      expect(expr).toMatch(
        new RegExp(`\\(\\((${name}_bucket{.*?}) unless \\1 offset \\$__rate_interval\\) or increase\\(\\1`),
      );
  },
);
