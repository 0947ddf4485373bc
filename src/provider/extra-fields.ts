import type { Dialect } from './dialect.ts';
import { placeholdersIn } from './template.ts';

type Bodies = Pick<Dialect, 'create' | 'update' | 'replay' | 'extra'>;

/** What a command's sender must not decide: where events go, which they are, and under which key. */
const GUARDED = ['url', 'events', 'encryptionKey'];

/**
 * Fields of an operation's body that a command's `extra` may not set: what the body's own template sets, and whatever
 * carries the address, the events or the key in any other body. A field that an update leaves out is as good a way to
 * redirect events as one that it has.
 */
export function fieldsClosedToExtra(
  dialect: Bodies,
  operation: 'create' | 'update' | 'replay',
): ReadonlySet<string> {
  const guarded = [dialect.create.body, dialect.update.body].flatMap((body) =>
    Object.entries(body)
      .filter(([, inner]) => placeholdersIn(inner).some((name) => GUARDED.includes(name)))
      .map(([field]) => field),
  );
  const closed = new Set([...Object.keys(dialect[operation].body), ...guarded, ...GUARDED]);
  for (const field of dialect.extra.mayReplace) closed.delete(field);
  return closed;
}
