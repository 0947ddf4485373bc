/** Every leaf of a JSON value with the path that leads to it. */
export function leavesOf(value: unknown, path = ''): Map<string, unknown> {
  if (typeof value !== 'object' || value === null) return new Map([[path, value]]);
  return new Map(Object.entries(value).flatMap(([name, inner]) => [...leavesOf(inner, `${path}/${name}`)]));
}
