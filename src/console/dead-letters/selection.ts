import { shellWord } from '../../core/shell-word.ts';
import { type DeadLetterFilter, parseFilter } from '../../dead-letters/filter.ts';
import { type Fields, orPageError, PageError, textOf } from '../page/page.ts';

/** Conditions that an address or a form can have, under the names that `--filter` has. */
export const CONDITIONS = ['stage', 'code', 'ref', 'topic', 'id', 'at', 'state', 'since', 'until'] as const;

/** Characters of one condition: an address of a browser or a proxy has not many more. */
const MAX_CONDITION = 4_000;

/** Which dead-letter records are meant. */
export type Selection = {
  readonly conditions: Readonly<Partial<Record<(typeof CONDITIONS)[number], string>>>;
  /** As `--filter` takes them. */
  readonly filter: readonly string[];
  readonly parsed: DeadLetterFilter;
};

/** @throws PageError where a condition cannot be understood */
export function selectionOf(fields: Fields): Selection {
  const given = CONDITIONS.flatMap((name) => {
    const value = textOfAll(fields, name);
    if (value === '') return [];
    if (value.length > MAX_CONDITION)
      throw new PageError(
        400,
        `${name} has ${value.length} characters, and ${MAX_CONDITION} at most are accepted: select fewer at a time, or by another condition. hookline dlq takes longer lists.`,
      );
    return [[name, value] as const];
  });
  const filter = given.map(([name, value]) => `${name}=${value}`);
  return { conditions: Object.fromEntries(given), filter, parsed: orPageError(() => parseFilter(filter)) };
}

/** Of a field that came several times, or of a list, all values, as `--filter` takes them. */
const textOfAll = (fields: Fields, name: string): string => {
  const { [name]: value } = fields;
  const texts = Array.isArray(value) ? value : [value];
  return texts.map((one: unknown) => textOf({ [name]: one }, name)).join(',');
};

/** As options of a command line. */
export const filterOptions = (filter: readonly string[]): string =>
  filter.map((condition) => ` --filter ${shellWord(condition)}`).join('');
