import type { Attempt, Run, Stored } from './run.ts';

/** What Kafka promises, in either target. @returns what is broken */
export function brokenPromises({ attempts, stored, read, commits, committed }: Run): string[] {
  const broken: string[] = [];
  for (const { id, partition, base } of attempts)
    if (base !== undefined && stored[partition]?.find(({ offset }) => offset === base)?.id !== id)
      broken.push(`${id} was acknowledged at ${base}, and is not there`);
  for (const { id, partition, offset } of read)
    if (stored[partition]?.find((one) => one.offset === offset)?.id !== id)
      broken.push(`${id} was read at ${offset} of partition ${partition}, and is not there`);
  for (const [partition, records] of stored.entries())
    broken.push(...brokenLog(partition, records, attempts));
  const acknowledged = commits.findLastIndex(({ isAcknowledged }) => isAcknowledged);
  const possible = commits.slice(Math.max(0, acknowledged)).map(({ offset }) => offset);
  if (acknowledged < 0) possible.push(-1);
  if (!possible.includes(committed))
    broken.push(`${committed} is committed, which is none of ${possible.join(', ')}`);
  return broken;
}

function brokenLog(partition: number, records: readonly Stored[], attempts: readonly Attempt[]): string[] {
  const broken: string[] = [];
  const sent = new Map(
    attempts.filter((one) => one.partition === partition).map((one, n) => [one.id, { ...one, n }]),
  );
  const seen = new Set<string>();
  let latest = -1;
  for (const [n, { id, offset, epoch }] of records.entries()) {
    const attempt = sent.get(id);
    if (!attempt) broken.push(`${id} is stored in partition ${partition}, and was not sent`);
    if (offset !== n) broken.push(`offset ${offset} of partition ${partition} comes after ${n - 1}`);
    if (seen.has(id)) broken.push(`${id} is stored twice`);
    if (epoch < (records[n - 1]?.epoch ?? 0))
      broken.push(`epoch ${epoch} at ${offset} of partition ${partition} is older`);
    const isFirst = attempt !== undefined && ![...seen].some((one) => sent.get(one)?.batch === attempt.batch);
    if (isFirst && attempt.batch < latest) broken.push(`batch ${attempt.batch} is stored after ${latest}`);
    latest = Math.max(latest, attempt?.batch ?? latest);
    seen.add(id);
  }
  return broken;
}

/** What was answered in which situation, and for producers whether the batch was stored all the same. */
export function factsOf({ attempts, stored, facts }: Run): Set<string> {
  const all = new Set(facts);
  const kept = new Set(stored.flat().map(({ id }) => id));
  for (const { id, situation, outcome } of attempts)
    all.add(`${situation}: produce ${outcome}, ${kept.has(id) ? 'stored' : 'not stored'}`);
  return all;
}
