import { HooklineError, hasCode } from '../core/errors.ts';
import type { ProcessContext } from '../runtime/process-shell.ts';
import { isRegistryUnavailable } from './record-reader.ts';
import type { Registry } from './registry.ts';
import { lookUpId, type RegisteredSchema, resolveSchemaIds, type SchemaIds } from './resolve-ids.ts';

/** Up to twice as long, by chance: not all processes end at once. */
const LOOK_EVERY_MS = 60_000;
/** A registry that is being restored may answer otherwise in a moment. */
const CONFIRM_AFTER_MS = 5_000;

export type WatchedIds = {
  readonly registry: Registry;
  readonly prefix: string;
  /** Gives those of the start, unless the registry alone does. */
  readonly resolve?: (schemas: readonly RegisteredSchema[]) => Promise<SchemaIds>;
  /** Called before the process ends: what it keeps of the ids is wrong. */
  readonly onChanged?: () => void;
};

/**
 * The ids of the schemas. They are looked up again every one to two minutes, and the process ends where one is another than at
 * its start: a registry that was restored from a backup, or filled anew, counts from another number, and consumers would take
 * what is written for other records. A new process has the new ids.
 */
export async function watchedIds(
  { registry, prefix, resolve = (all) => resolveSchemaIds(registry, prefix, all), onChanged }: WatchedIds,
  schemas: readonly RegisteredSchema[],
  { logger, clock, components }: Pick<ProcessContext, 'logger' | 'clock' | 'components'>,
): Promise<SchemaIds> {
  const ids = await resolve(schemas);
  const { stopping: signal, fail } = components;
  const wait = (ms: number) => clock.sleep(ms, { signal, ref: false });
  const look = async () => {
    const changed: string[] = [];
    const lost: string[] = [];
    for (const schema of schemas) {
      const id = await lookUpId(registry, prefix, schema);
      const before = ids.of(schema);
      if (id === null) lost.push(schema.file);
      else if (id !== before) changed.push(`${schema.file} had ${before}, has ${id}`);
    }
    return { changed, lost };
  };
  const hasEnded = async () => {
    let { changed, lost } = await look();
    if (changed.length > 0) {
      await wait(CONFIRM_AFTER_MS);
      ({ changed, lost } = await look());
    }
    if (changed.length > 0) {
      onChanged?.();
      fail(new HooklineError('SCHEMA_IDS_CHANGED', changed.join('; ')));
      return true;
    }
    // What is written has the ids that it had; a start would not succeed.
    if (lost.length > 0) throw new HooklineError('SCHEMA_NOT_REGISTERED', lost.join(', '));
    return false;
  };
  const tell = outcomesTold(logger);
  const watch = async () => {
    for (;;) {
      await wait(LOOK_EVERY_MS * (1 + clock.random()));
      try {
        if (await hasEnded()) return;
        tell(null);
      } catch (err) {
        signal.throwIfAborted();
        tell(err);
      }
    }
  };
  watch().catch(() => {
    // It is stopping.
  });
  return ids;
}

/** Nothing fails while a process runs: without this line, its next start would be the first to show a password that is wrong, say. */
const NOT_ASKED =
  'the schema registry cannot be asked for the ids of the schemas: this process goes on with those that it has, one that starts without a startup cache waits';
const LOST =
  'the registry does not have the schemas any more: consumers may not be able to read what is written, and a process that starts waits; before hookline schemas push, see "The schema registry was restored" in the runbook';

/** A line where the looks at the registry begin to fail, fail otherwise, or succeed again. */
function outcomesTold(logger: ProcessContext['logger']): (err: unknown) => void {
  let told = '';
  return (err) => {
    const isUnavailable = isRegistryUnavailable(err);
    // An absence has other words each time: a connection that is refused, then one that is cut.
    const now = err === null ? '' : isUnavailable ? (err as HooklineError).code : String(err);
    if (now === told) return;
    told = now;
    if (err === null) logger.info('the schema registry has the ids of the schemas again');
    else if (isUnavailable) logger.warn({ err }, NOT_ASKED);
    else
      logger.error(
        { err },
        hasCode(err, 'SCHEMA_NOT_REGISTERED') ? LOST : 'the ids of the schemas cannot be looked up',
      );
  };
}
