import { HooklineError } from '../core/errors.ts';
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
  const areConfirmed = async () => {
    const { changed, lost } = await look();
    if (changed.length > 0) {
      await wait(CONFIRM_AFTER_MS);
      const found = await look();
      if (found.changed.length === 0) return false;
      onChanged?.();
      fail(new HooklineError('SCHEMA_IDS_CHANGED', found.changed.join('; ')));
      return true;
    }
    // What is written has the ids that it had; a start would not succeed.
    if (lost.length > 0) throw new HooklineError('SCHEMA_NOT_REGISTERED', lost.join(', '));
    return false;
  };
  const watch = async () => {
    for (;;) {
      await wait(LOOK_EVERY_MS * (1 + clock.random()));
      try {
        if (await areConfirmed()) return;
      } catch (err) {
        signal.throwIfAborted();
        if (!isRegistryUnavailable(err)) logger.error({ err }, 'the ids of the schemas cannot be looked up');
      }
    }
  };
  watch().catch(() => {
    // It is stopping.
  });
  return ids;
}
