import { closest, distance } from 'fastest-levenshtein';
import type { Settings } from './env.ts';

export type Misspelt = { readonly variable: string; readonly meant: string };

export const describeMisspelt = ({ variable, meant }: Misspelt): string =>
  `${variable} is not a setting and is not read: did you mean ${meant}?`;

/** The same as texts: where the one that was meant is required, its fault says only that it is not set. */
export const misspeltHints = (...of: Parameters<typeof misspelt>): string[] =>
  misspelt(...of).map(describeMisspelt);

/** Letters that may be wrong in a long name. */
const MAX_WRONG = 2;
const LONG = 10;

/**
 * Variables that no setting has but that look like one that is not set, most likely misspelt: a setting that is left
 * out takes its default in silence. Names alone are compared; a variable of another program is none of these.
 */
export function misspelt(
  groups: Readonly<Record<string, Settings>>,
  env: Readonly<Record<string, string | undefined>>,
): readonly Misspelt[] {
  const known = new Set(
    Object.values(groups).flatMap((group) => Object.values(group).map(({ name }) => name)),
  );
  const unset = [...known].filter((name) => env[name] === undefined);
  if (unset.length === 0) return [];
  const others = Object.keys(env).filter((name) => !known.has(name));
  return others.flatMap((variable) => {
    const upper = variable.toUpperCase().replaceAll('-', '_');
    const meant = closest(upper, unset);
    const wrong = distance(upper, meant);
    return wrong <= (meant.length >= LONG ? MAX_WRONG : 1) ? [{ variable, meant }] : [];
  });
}
