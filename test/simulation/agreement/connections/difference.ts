/** A place in an answer where the broker says something else than the model. */
export type Difference = {
  /** The request, and the way to the place. */
  readonly path: string;
  readonly kafka: unknown;
  readonly model: unknown;
};

/** Compares two answers, as plain values. */
export function differencesOf(kafka: unknown, model: unknown, path: string): Difference[] {
  if (Object.is(kafka, model)) return [];
  if (!isObject(kafka) || !isObject(model)) return [{ path, kafka, model }];
  const names = new Set([...Object.keys(kafka), ...Object.keys(model)]);
  return [...names].flatMap((name) => differencesOf(kafka[name], model[name], `${path}.${name}`));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** Whether both have a generation, with another leader in each. */
export const isOtherLeader = ({ path, kafka, model }: Difference): boolean =>
  path.startsWith('join ') && path.endsWith('.leaderId') && kafka !== '' && model !== '';

/** An answer as plain values: bytes and large numbers as texts, and what each target names as it likes by one name. */
export function plain(value: unknown, nameOf: (text: string) => string): unknown {
  if (typeof value === 'string') return nameOf(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (Buffer.isBuffer(value)) return value.toString('hex');
  if (Array.isArray(value)) return value.map((one) => plain(one, nameOf));
  if (value instanceof Map) return plain([...value], nameOf);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      const shown = plain(one, nameOf);
      // A group's members have no order.
      return [name, name === 'members' && Array.isArray(shown) ? shown.toSorted(byText) : shown];
    }),
  );
}

const byText = (one: unknown, other: unknown) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);
