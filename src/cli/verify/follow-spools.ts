import { isoOf } from '../../core/instant.ts';
import { type Finding, ok, unknown } from '../shell/finding.ts';
import { countLife, type Life, shrinkageOf, surplus } from './compare-counters.ts';

/**
 * Follows what was left in a spool from the process that left it to the one that replaced it. A volume that was lost or emptied
 * shows in no counter of one process: the next one begins with an empty spool, and all its counters agree.
 * @param lives those that ended shortly before the period included
 */
export function followSpools(lives: readonly Life[]): Finding[] {
  const findings: Finding[] = [];
  let followed = 0;
  for (const spool of Map.groupBy(lives, ({ owner }) => owner).values()) {
    const taken = new Map<Life, number>();
    for (const life of spool) {
      const { spooled: left } = life.last;
      if (left === 0) continue;
      const next = successorOf(life, spool);
      if (next) taken.set(next, left);
      const finding = next ? handedOver(life, next) : life.hasEnded ? leftBehind(life) : null;
      if (finding) findings.push(finding);
      else if (next) followed += left;
    }
    findings.push(...spool.flatMap((life) => unclear(life, taken.get(life) ?? 0)));
  }
  if (findings.length > 0 || followed === 0) return findings;
  return [ok('spools', `${followed} deliveries in spools of processes that ended: the next ones had them`)];
}

/** The process that opened the spool next. One that two jobs scrape is not its own successor. */
export function successorOf(life: Life, spool: readonly Life[]): Life | undefined {
  const isLater = (other: Life) =>
    other.startedAt !== null && life.startedAt !== null
      ? other.startedAt > life.startedAt
      : other.first.at > life.last.at;
  return spool.filter(isLater).reduce<Life | undefined>((next, one) => {
    return next === undefined || one.first.at < next.first.at ? one : next;
  }, undefined);
}

function handedOver({ process, last }: Life, next: Life): Finding | null {
  const found = Math.max(0, Math.min(surplus(next.first), surplus(next.last)));
  if (found >= last.spooled) return null;
  const started = isoOf(next.startedAt ?? next.first.at);
  return unknown(
    'spools',
    `${process}: ${last.spooled} deliveries were in its spool at ${isoOf(last.at)}, and the process that replaced it at ${started} accounts for ${found}: the other ${last.spooled - found} were drained in between, or are lost`,
    'look for them in the topics, and in the logs of the process before and of a job that drained the spool; if they are not there, have the provider replay the time before',
  );
}

const leftBehind = ({ process, last }: Life): Finding =>
  unknown(
    'spools',
    `${process}: ${last.spooled} deliveries were in its spool at ${isoOf(last.at)}, its last scrape, and no process has replaced it`,
    'bring its volume back, or check that a job has drained it (hookline spool status); if the volume is lost, have the provider replay the time before',
  );

/**
 * Rows that cannot be followed from where a process's counters begin to its last scrape.
 * @param taken rows that one before it left: at its first scrape it may well drain them, and what became of them is compared with them
 */
function unclear(life: Life, taken: number): Finding[] {
  const { by, isUnclear } = shrinkageOf(life);
  const from = life.base ?? life.first;
  const count = from.at > life.first.at ? by : by - taken;
  if (!isUnclear || count <= 0) return [];
  return [
    unknown(
      'spools',
      `${life.process}: ${from.spooled} deliveries were in its spool at ${isoOf(from.at)}, when the counters begin, and ${count} of them cannot be followed: they were published and not yet removed then, or are lost`,
      'run it again with a --since at which the spool was empty (hookline_spool_deliveries)',
    ),
  ];
}

/**
 * How many records the topics must have at least: acknowledged in the period, and not in a spool that somebody still has, or may have.
 * @param lives those of the period
 */
export function owedOf(lives: readonly Life[]): number {
  return [...Map.groupBy(lives, ({ owner }) => owner).values()].reduce((total, spool) => {
    const acknowledged = spool.reduce((sum, life) => sum + countLife(life).acknowledged, 0);
    const last = spool.filter((life) => !successorOf(life, spool));
    const inSpool = last.reduce((most, life) => Math.max(most, life.last.spooled), 0);
    return total + Math.max(0, acknowledged - inSpool);
  }, 0);
}
