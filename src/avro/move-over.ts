import { setTimeout as sleep } from 'node:timers/promises';
import { HooklineError, hasCode } from '../core/errors.ts';

/** What moving a subject over needs of the registry. Rejects as the registry's client does. */
export type SubjectVersions = {
  /** Versions that the schema is not compatible with, by the subject's own rule. */
  incompatible(): Promise<readonly number[]>;
  /** The subject's version that is exactly this schema; null where there is none. */
  ownVersion(): Promise<number | null>;
  setCompatibility(level: 'FULL_TRANSITIVE' | 'NONE'): Promise<unknown>;
  register(): Promise<unknown>;
  /** Soft-deletes a version. Resolves where it is deleted already. */
  remove(version: number): Promise<unknown>;
  /** What a failure means. */
  explain(error: unknown): HooklineError;
};

/** Two that run at once can each set the rule back while the other one registers. */
const MAX_TRIES = 8;
/** Before the nth try at most n times as long, by chance: those that run in step would overtake one another each time. */
const MAX_PAUSE_MS = 100;

/**
 * Registers a schema whatever the subject's versions are, and soft-deletes those that it is not compatible with.
 * FULL_TRANSITIVE holds before and after. May be repeated, also after an interruption, and may run several times at once.
 * @param options.keepsOld soft-deletes nothing yet: processes whose schemas are old versions can still start
 * @returns the versions that were soft-deleted
 * @throws HooklineError saying how the subject is left where it is interrupted
 */
export async function moveOver(
  subject: string,
  versions: SubjectVersions,
  { keepsOld = false }: { readonly keepsOld?: boolean } = {},
): Promise<readonly number[]> {
  const removed = new Set<number>();
  for (let tries = 1; ; tries++) {
    try {
      await tryOnce(versions, keepsOld ? undefined : removed, subject);
      return [...removed];
    } catch (error) {
      // Without a rule nothing is incompatible: somebody else has set it back in between.
      const explained = versions.explain(error);
      if (!hasCode(explained, 'SCHEMA_INCOMPATIBLE')) throw error;
      if (tries === MAX_TRIES) throw refusedWithoutRule(subject, explained);
      await sleep(Math.random() * tries * MAX_PAUSE_MS);
    }
  }
}

async function tryOnce(
  versions: SubjectVersions,
  removed: Set<number> | undefined,
  subject: string,
): Promise<void> {
  await versions.setCompatibility('FULL_TRANSITIVE');
  const incompatible = await versions.incompatible();
  if (incompatible.length === 0) {
    await versions.register();
    return;
  }
  let failure: unknown;
  try {
    // Once it is there, nobody else has to do without the rule.
    const own = await versions.ownVersion();
    if (own === null) {
      await versions.setCompatibility('NONE');
      await versions.register();
    }
    // Asked about one version, Karapace and Apicurio's API v6 judge all of them: the schema's own is then called incompatible.
    const others = incompatible.filter((version) => version !== own);
    if (removed) await removeAll(versions, others, removed);
  } catch (error) {
    failure = error;
  }
  try {
    await versions.setCompatibility('FULL_TRANSITIVE');
  } catch (error) {
    throw left(versions.explain(failure ?? error), `${subject} may be left with compatibility NONE`);
  }
  if (failure === undefined) return;
  const explained = versions.explain(failure);
  if (explained.code === 'SCHEMA_INCOMPATIBLE') throw explained;
  throw left(explained, `${subject} is moved over in part`);
}

async function removeAll(
  { remove }: SubjectVersions,
  incompatible: readonly number[],
  removed: Set<number>,
): Promise<void> {
  for (const version of incompatible) {
    await remove(version);
    removed.add(version);
  }
}

/** Apicurio Registry 3.0 and before it take NONE as no rule of the subject: that of the registry is then in force. */
function refusedWithoutRule(subject: string, { code, detail, cause }: HooklineError): HooklineError {
  const remedy = `the registry may have a rule for all subjects, which holds although that of ${subject} was NONE: set it to NONE (PUT /config), run hookline schemas push --major again, and set it back`;
  return new HooklineError(code, detail, { cause, remedy });
}

function left({ code, detail, remedy, cause }: HooklineError, how: string): HooklineError {
  const again = `${how}: run hookline schemas push --major again`;
  return new HooklineError(code, detail, { cause, remedy: remedy ? `${remedy}. ${again}` : again });
}
