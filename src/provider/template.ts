/** Values for the placeholders of a template; what is undefined has no value. */
export type TemplateValues = Readonly<Record<string, unknown>>;

const WHOLE = /^\{(\w+)\}$/;
const INSIDE = /\{(\w+)\}/g;

/**
 * Fills a request body. A text that is one placeholder takes its value with its JSON type; a placeholder inside a text
 * is put in as text; a field whose placeholder has no value is left out.
 */
export function fillTemplate(template: unknown, values: TemplateValues): unknown {
  if (typeof template === 'string') return fillText(template, values);
  if (Array.isArray(template)) {
    return template.map((item) => fillTemplate(item, values)).filter((item) => item !== undefined);
  }
  if (typeof template !== 'object' || template === null) return template;
  const filled: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(template)) {
    const value = fillTemplate(inner, values);
    if (value !== undefined) filled[name] = value;
  }
  return filled;
}

function fillText(text: string, values: TemplateValues): unknown {
  const whole = WHOLE.exec(text)?.[1];
  if (whole !== undefined) return values[whole];
  const missing = [...text.matchAll(INSIDE)].some((match) => values[match[1] ?? ''] === undefined);
  return missing ? undefined : text.replace(INSIDE, (_, name: string) => String(values[name]));
}

/** The name of every placeholder in a template. */
export function placeholdersIn(template: unknown): string[] {
  if (typeof template === 'string') return [...template.matchAll(INSIDE)].map((match) => match[1] ?? '');
  if (typeof template !== 'object' || template === null) return [];
  return Object.values(template).flatMap(placeholdersIn);
}
