import { HooklineError } from '../core/errors.ts';
import type { ProcessContext } from '../runtime/process-shell.ts';
import { isRegistryUnavailable } from './record-reader.ts';
import type { RegisteredSchema, SchemaIds } from './resolve-ids.ts';

/** Up to twice as long, by chance: not all processes end at once. */
const LOOK_EVERY_MS = 60_000;
/** A registry that is being restored may answer otherwise in a moment. */
const CONFIRM_AFTER_MS = 5_000;

type Look = (schemas: readonly RegisteredSchema[]) => Promise<SchemaIds>;

/**
 * The ids of the schemas. They are looked up again every one to two minutes, and the process ends where they are others than at
 * its start: a registry that was restored from a backup, or filled anew, counts from another number, and consumers would take
 * what is written for other records. A new process has the new ids.
 * @param resolve gives those of the start
 */
export async function watchedIds(
  schemas: readonly RegisteredSchema[],
  look: Look,
  { logger, clock, components }: Pick<ProcessContext, 'logger' | 'clock' | 'components'>,
  resolve = look,
): Promise<SchemaIds> {
  const ids = await resolve(schemas);
  const { stopping: signal, fail } = components;
  const wait = (ms: number) => clock.sleep(ms, { signal, ref: false });
  const changes = async () => {
    const now = await look(schemas);
    return schemas
      .filter((schema) => now.of(schema) !== ids.of(schema))
      .map((schema) => `${schema.file} had ${ids.of(schema)}, has ${now.of(schema)}`);
  };
  const areConfirmed = async () => {
    if ((await changes()).length === 0) return false;
    await wait(CONFIRM_AFTER_MS);
    const found = await changes();
    if (found.length > 0) fail(new HooklineError('SCHEMA_IDS_CHANGED', found.join('; ')));
    return found.length > 0;
  };
  const watch = async () => {
    for (;;) {
      await wait(LOOK_EVERY_MS * (1 + clock.random()));
      try {
        if (await areConfirmed()) return;
      } catch (err) {
        signal.throwIfAborted();
        // What is written has the ids that it had; a start would not succeed.
        if (!isRegistryUnavailable(err)) logger.error({ err }, 'the ids of the schemas cannot be looked up');
      }
    }
  };
  watch().catch(() => {
    // It is stopping.
  });
  return ids;
}
