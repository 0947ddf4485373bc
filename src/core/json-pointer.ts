/** A JSON pointer (RFC 6901) read into steps; `null` where the text is none. */
export function parsePointer(text: string): readonly string[] | null {
  if (text === '') return [];
  if (!text.startsWith('/') || /~(?![01])/.test(text)) return null;
  return text
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/**
 * The value that the steps lead to, or undefined. Own properties only: a message can't reach what JavaScript puts
 * behind an object's name.
 */
export function resolvePointer(value: unknown, steps: readonly string[]): unknown {
  let at = value;
  for (const step of steps) {
    if (typeof at !== 'object' || at === null) return undefined;
    if (Array.isArray(at) && !/^(0|[1-9]\d*)$/.test(step)) return undefined;
    if (!Object.hasOwn(at, step)) return undefined;
    at = (at as Record<string, unknown>)[step];
  }
  return at;
}
