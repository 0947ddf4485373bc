import type { Row } from './attack.ts';
import type { HonestSeen } from './honest/honest-stream.ts';

const HEAD = ['attack', 'honest small', 'p50 / p99 / longest', 'honest 2 MB', 'p50 / p99 / longest'].concat([
  'peak memory',
  'what the attackers saw',
  'outcome',
]);

/** The campaign's table, as Markdown. */
export function tableOf(rows: readonly Row[]): string {
  const lines = [HEAD, HEAD.map(() => '---'), ...rows.map(cellsOf)];
  return lines.map((cells) => `| ${cells.map(escapeCell).join(' | ')} |`).join('\n');
}

function cellsOf({ name, what, honest, peakMib, note, problems }: Row): string[] {
  return [
    `${what} (\`${name}\`)`,
    ...streamCells(honest?.small),
    ...streamCells(honest?.large),
    peakMib === null ? '–' : `${Math.round(peakMib)} MiB`,
    note || '–',
    problems.length === 0 ? 'withstood' : `FAILED: ${problems.join('; ')}`,
  ];
}

function streamCells(seen: HonestSeen | undefined): [answers: string, latencies: string] {
  if (seen === undefined || seen.sent === 0) return ['–', '–'];
  const others = Object.entries(seen.notTaken).map(([answer, count]) => `${count} × ${answer}`);
  const missed = Object.values(seen.notTaken).reduce((sum, count) => sum + count, 0);
  const taken = [`${seen.sent - missed} × 200`, ...others].join(', ');
  return [taken, `${[seen.p50, seen.p99, seen.longest].map((ms) => Math.round(ms)).join(' / ')} ms`];
}

const escapeCell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
