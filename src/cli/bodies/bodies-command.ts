import type { Command } from 'commander';
import { ConfigError } from '../../config/env.ts';
import { UsageError } from '../../core/errors.ts';
import type { BodyStore } from '../../object-store/body-store.ts';
import { systemClock } from '../../runtime/clock.ts';
import { orAborted } from '../../runtime/or-aborted.ts';
import { CLI_GROUPS, connectBodyStore, loadConfig } from '../shell/connections.ts';
import { printRows } from '../shell/print-rows.ts';
import { describeError, type ExitCode, type Run, type Shell } from '../shell/shell.ts';
import { type Comparison, compareObjects, listObjects } from './compare-objects.ts';
import { type References, readReferences } from './read-references.ts';
import { Unchecked } from './unchecked.ts';
import { describeOrphans, describeOthers, findUnreferenced } from './unreferenced.ts';

type Options = { verify?: boolean; json?: boolean };

export function addBodiesCommand(program: Command, shell: Shell, run: Run): void {
  program
    .command('bodies')
    .description('the objects that events and dead-letter records refer to (BODY_STORE)')
    .command('check')
    .description(
      'compares all references in Kafka with the object store; exit code 1: an object is missing, changed or archived; 3: nothing was found, but not everything could be checked',
    )
    .option('--verify', 'reads every object and verifies its SHA-256')
    .option('--json', 'print JSON')
    .action(run((options: Options) => check(shell, options)));
}

const COULD_NOT_CHECK = 3;

async function check(shell: Shell, options: Options): Promise<ExitCode> {
  try {
    return await compare(shell, options);
  } catch (error) {
    if (error instanceof UsageError || error instanceof ConfigError) throw error;
    shell.note(`hookline: ${describeError(error)}`);
    return COULD_NOT_CHECK;
  }
}

async function compare(shell: Shell, { verify = false, json = false }: Options): Promise<ExitCode> {
  const config = loadConfig(shell, ...CLI_GROUPS, 'bodyStore');
  const bodies = await connectBodyStore(config);
  if (!bodies) throw new UsageError('BODY_STORE is not set: no record refers to an object.');
  const { note, signal } = shell;
  const unread = new Unchecked(note);
  const unchecked = new Unchecked(note);
  try {
    // Before Kafka is read: an object that is stored after its listing is no orphan, and one without a record is not in it.
    const startedAt = systemClock.wall();
    const listing = await listObjects(bodies, signal);
    const { references, topics, missing } = await orAborted(readReferences(shell, config, unread), signal);
    const comparison = await compareObjects(references, { bodies, listing, verify, unchecked, signal });
    printRows(shell, json, comparison.rows);
    const incomplete = incompletenessOf(comparison, {
      unread: unread.count,
      unchecked: unchecked.count,
      missing: missing.length,
    });
    for (const line of incomplete) note(line);
    const { orphans: found, others } = findUnreferenced(listing, references, bodies.address, topics);
    const further = describeOthers(others);
    if (further) note(further);
    const orphans = unread.count + missing.length > 0 ? null : found;
    note(summaryOf(bodies, references, comparison, orphans && describeOrphans(orphans, startedAt)));
    if (comparison.rows.length > 0) return 1;
    return incomplete.length > 0 ? COULD_NOT_CHECK : 0;
  } finally {
    bodies.close();
  }
}

/** A line for each reason why not everything was checked. */
function incompletenessOf(
  { elsewhere }: Comparison,
  {
    unread,
    unchecked,
    missing,
  }: { readonly unread: number; readonly unchecked: number; readonly missing: number },
): string[] {
  const buckets = [...elsewhere].map(([bucket, count]) => `${count} in ${bucket}`);
  const lines = [
    missing > 0 && `${missing} topics are not in Kafka: is TOPIC_PREFIX right?`,
    unread > 0 && `${unread} records could not be read: what they refer to was not checked`,
    unchecked > 0 && `${unchecked} objects could not be checked`,
    buckets.length > 0 &&
      `Objects elsewhere, not checked: ${buckets.join(', ')}. Set BODY_STORE to their bucket to check them.`,
  ];
  return lines.filter((line) => line !== false);
}

function summaryOf(
  { address: { bucket, prefix } }: BodyStore,
  references: References,
  { rows }: Comparison,
  orphans: string | null,
): string {
  const unknown = 'whether others have no record is not known, as records could not be read';
  return `s3://${bucket}/${prefix}: ${references.size} objects referred to, ${rows.length} missing, changed or archived; ${orphans ?? unknown}`;
}
