import { UsageError } from '../../core/errors.ts';
import type { Role, User } from '../settings/roles.ts';
import type { Html } from './html.ts';

/**
 * A page of the console. To add one:
 *
 * 1. write `src/console/<folder>/<name>-page.ts`, which exports a function from {@link ConsoleDeps} to `definePage({ … })`
 * 2. list it in `src/console/pages.ts`: its place there is its place in the navigation
 *
 * Everything else follows from what it says here: who may see it, the same data as JSON (`Accept: application/json`), the frame with its
 * navigation, errors, limits, and the audit trail of its changes. `src/console/schemas/schemas-page.ts` is a short example.
 */
export type Page<Data extends object = object> = {
  /** The address, as Fastify writes it: `/events/:topic`. */
  readonly path: `/${string}`;
  readonly title: string;
  /** Which of several things it shows, such as a ref: it tells tabs, bookmarks and the history of a browser apart. */
  subject?(request: PageRequest): string;
  /** What the navigation calls it; unset: it is reached from another page. */
  readonly navigation?: string;
  /** Who may see it; a user without the role is answered 403. */
  readonly role: Role;
  /** What it shows. This is the JSON answer. Throws {@link PageError} where the request cannot be answered as it is. */
  data(request: PageRequest): Promise<Data>;
  /** The content of `<main>`, below the title. */
  render(data: Data, request: PageRequest): Html;
  /**
   * The command of the CLI that shows the same, as typed: `hookline dlq list`. Values of the user's go through {@link shellWord}.
   * @param data what the page shows; unset on the page of a change
   */
  cli(request: PageRequest, data?: Data): string;
  /**
   * Where given, the page stays open and changes: its script reads these updates until the reader leaves, when `signal` aborts. The first
   * one says that the page is up to date: it comes as soon as that is known, with nothing but an `id` where nothing has changed.
   */
  live?(request: PageRequest): AsyncIterable<LiveUpdate>;
  /** What may be done on it. */
  readonly changes?: readonly Change[];
};

/** Forgets the type of the data, so that pages stand in one list. */
export const definePage = <Data extends object>(page: Page<Data>): Page => page as unknown as Page;

export type PageRequest = {
  readonly params: Readonly<Record<string, string>>;
  /** Of a parameter that came several times, the last one. */
  readonly query: Readonly<Record<string, string>>;
  readonly user: User;
  may(role: Role): boolean;
  /** Aborted when the reader has gone, and at the stop. */
  readonly signal: AbortSignal;
  /** The hidden field that every form with `method="post"` contains. */
  readonly csrfField: Html;
  /** Writes a record of the audit trail, for what is no change: a value that is revealed. Rejects where it cannot be written. */
  audit(action: string, details: object): Promise<void>;
};

/**
 * An update of an open page. The element with this `id` is replaced by the markup, gets it as its first child, where `keep` bounds the
 * children, or hands it to the plots within.
 */
export type LiveUpdate = {
  readonly id: string;
  readonly html?: Html;
  readonly how?: 'replace' | 'prepend';
  /** Children that stay, with `prepend`. */
  readonly keep?: number;
  /** With `plot`: the data of the plot of this id. */
  readonly plot?: PlotData;
};

/** Times in seconds since 1970, and the values of each series at these times; null where there is none. */
export type PlotData = readonly (readonly (number | null)[])[];

/**
 * Something that a POST does: a form's or a JSON body's fields become an input, the audit trail is told, then it is carried out. A change
 * whose audit record cannot be written is not made.
 */
export type Change<Input extends object = object, Result extends object = object> = {
  readonly path: `/${string}`;
  readonly title: string;
  readonly role: Role;
  /** The command of the CLI that does the same, for the page that is shown after it; unset: the page's own. */
  cli?(input: Input): string;
  /** Names of all fields that it takes: a misspelt one is refused, as without it more would be done than is meant. */
  readonly fields: readonly string[];
  /** Checks the fields: text from a form, any JSON from elsewhere. Throws {@link PageError}. */
  read(fields: Fields, request: PageRequest): Input;
  /** What the audit trail says of it; null for what changes nothing, such as a dry run. No secrets, no bodies. */
  audited(input: Input): { readonly action: string; readonly details: object } | null;
  /** Does it. The result is the JSON answer. What goes on after it calls `endsLater`. */
  make(input: Input, request: PageRequest, endsLater: EndsLater): Promise<Result>;
  /**
   * The form with what was posted, below what is wrong with it: somebody who typed it corrects it there. Unset: a link leads to the page.
   * @param fields as they came, not checked
   */
  again?(fields: Fields, request: PageRequest): Html;
  /** What a browser is shown: a page, or the address of one that shows it. */
  show(result: Result, request: PageRequest): Html | { readonly see: string };
};

/** How a change ended: `stopped` by somebody, when a part of it was done. */
export type ChangeEnd = 'done' | 'failed' | 'stopped';

/** Says that a change has only begun, and gives what tells the audit trail of its end. */
export type EndsLater = () => (outcome: ChangeEnd, message?: string) => Promise<void>;

export type Fields = Readonly<Record<string, unknown>>;

export const defineChange = <Input extends object, Result extends object>(
  change: Change<Input, Result>,
): Change => change as unknown as Change;

/** What is wrong with a request, in a sentence that says what would be right. */
export class PageError extends Error {
  readonly status: number;
  constructor(status: 400 | 403 | 404 | 409 | 429 | 503, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PageError';
    this.status = status;
  }
}

/** What somebody gave is checked by the CLI's own code; here the answer is 400. */
export function orPageError<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof UsageError) throw new PageError(400, error.message, { cause: error });
    throw error;
  }
}

/** @throws PageError 403 */
export function checkRole({ user, may }: Pick<PageRequest, 'user' | 'may'>, role: Role): void {
  if (!may(role))
    throw new PageError(
      403,
      `${user.name} does not have the role ${role}. CONSOLE_ROLES gives roles to groups.`,
    );
}

/** What a form had in a field, to be shown in it again: '' where that is no text. */
export const typedIn = (fields: Fields, name: string): string =>
  typeof fields[name] === 'string' ? fields[name] : '';

/** A text field; '' where it is absent. */
export function textOf(fields: Fields, name: string): string {
  const value = fields[name];
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw new PageError(400, `${name} must be text.`);
  return value.trim();
}

const YES: ReadonlySet<unknown> = new Set([true, 'true', 'yes']);
/** A box that is not checked is not sent. */
const NO: ReadonlySet<unknown> = new Set([undefined, null, '', false, 'false', 'no']);

/** A field that is yes or no; no where it is absent. Another word is neither: what was to be a dry run must not be done. */
export function flagOf(fields: Fields, name: string): boolean {
  const value = fields[name];
  if (YES.has(value)) return true;
  if (NO.has(value)) return false;
  throw new PageError(400, `${name} must be true or false.`);
}

/** Resolves when the reader of an open page has gone. */
export const untilGone = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
