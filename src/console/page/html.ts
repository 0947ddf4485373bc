import { showHidden } from '../../core/hidden-characters.ts';

/**
 * HTML as a value of its own, so that text and markup cannot be mistaken for one another: what a template is given is text and is
 * escaped, unless it is {@link Html}, which only {@link html} makes.
 */
export class Html {
  readonly #markup: string;
  private constructor(markup: string) {
    this.#markup = markup;
  }
  /** For {@link html} alone: nobody else has markup that is known to be safe. */
  static of(markup: string): Html {
    return new Html(markup);
  }
  toString(): string {
    return this.#markup;
  }
}

/** What a template takes. Absent values and false become nothing, so that `condition && html…` works; lists are joined. */
export type Shown = Html | string | number | bigint | false | null | undefined | readonly Shown[];

/**
 * The template tag of every page: html`<td title="${title}">${value}</td>`. Attribute values stand in double quotes. Values of `href`
 * and `action` are addresses of the console, made by {@link address}: an escaped `javascript:` would still be one.
 */
export function html(strings: TemplateStringsArray, ...values: readonly Shown[]): Html {
  const parts = strings.map((markup, n) => (n === 0 ? markup : markupOf(values[n - 1]) + markup));
  return Html.of(parts.join(''));
}

function markupOf(value: Shown): string {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Html) return value.toString();
  if (Array.isArray(value)) return value.map(markupOf).join('');
  return escapeText(String(value));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** What would be hidden becomes visible escapes, as on the terminal: a hostile value must not be shown as another one. */
const escapeText = (text: string): string => escapeMarkup(showHidden(text.toWellFormed(), '\t\n\r'));

const escapeMarkup = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);

/** The value of a field, which comes back with its form: with escapes in it, something else would be searched for or applied. */
export const formValue = (text: string | undefined): Html =>
  Html.of(escapeMarkup((text ?? '').toWellFormed()));

/** An address of the console: `address('/events', topic)`, `address('/find', { q })`. Every part is encoded. */
export function address(
  path: `/${string}`,
  ...parts: readonly (string | Readonly<Record<string, string>>)[]
): string {
  const query = parts.find((part) => typeof part === 'object');
  const segments = parts.filter((part) => typeof part === 'string').map(encodeURIComponent);
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== '');
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : '';
  return `${[path === '/' && segments.length > 0 ? '' : path, ...segments].join('/')}${search}`;
}
