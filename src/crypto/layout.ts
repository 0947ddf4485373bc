import { Fault, setting } from '../config/env.ts';

/** How a sealed body is laid out: what is sealed, in which text form, and in which order. */
export type SealedLayout = {
  /** The whole body, or the message's `payload` field. */
  readonly covers: 'body' | 'payload';
  readonly form: 'bytes' | 'base64' | 'hex' | 'envelope';
  readonly ivLength: 12 | 16;
  readonly tagFirst: boolean;
  /** The names of an envelope's three fields. */
  readonly names: { readonly iv: string; readonly tag: string; readonly data: string };
  /** How an envelope's values are written. */
  readonly encoding: 'base64' | 'hex';
};

export const DEFAULT_LAYOUT = 'iv12.ciphertext.tag16';

const LAYOUT_HELP =
  'give ORDER, ORDER:base64 or ORDER:hex, where ORDER is iv12.ciphertext.tag16, iv12.tag16.ciphertext, ' +
  'iv16.ciphertext.tag16 or iv16.tag16.ciphertext; or json, json:hex, json:iv=NAME,tag=NAME,data=NAME; ' +
  "with payload/ before it for the same in the message's payload field";

const LAYOUT =
  /^(payload\/)?(?:iv(12|16)\.(ciphertext\.tag16|tag16\.ciphertext)|json)(?::(base64|hex))?(?::(.+=.+))?$/;
const NAMES = { iv: 'iv', tag: 'tag', data: 'data' };

/**
 * Parses `ENCRYPTION_LAYOUT`. The interface names the algorithm but no layout, so it is a setting.
 * @returns the layout, or null if the text is not one of {@link LAYOUT_HELP}.
 */
export function parseLayout(text: string): SealedLayout | null {
  const match = LAYOUT.exec(text);
  if (!match) return null;
  const [, payload, ivLength, order, encoding, namesText] = match;
  const isEnvelope = order === undefined;
  const names = namesText === undefined ? NAMES : parseNames(namesText);
  if (!names || (namesText !== undefined && !isEnvelope)) return null;
  // A JSON string cannot contain raw bytes: in a payload they are base64.
  const written = encoding === 'hex' ? 'hex' : encoding || payload ? 'base64' : 'bytes';
  return {
    covers: payload ? 'payload' : 'body',
    form: isEnvelope ? 'envelope' : written,
    ivLength: ivLength === '16' ? 16 : 12,
    tagFirst: order === 'tag16.ciphertext',
    names,
    encoding: encoding === 'hex' ? 'hex' : 'base64',
  };
}

function parseNames(text: string): SealedLayout['names'] | null {
  const names: Record<string, string> = { ...NAMES };
  for (const pair of text.split(',')) {
    const [field, name, ...rest] = pair.split('=');
    if (!field || !Object.hasOwn(NAMES, field) || !name || rest.length > 0) return null;
    names[field] = name;
  }
  // Two pieces with one name could not be told apart.
  const isClear = new Set(Object.values(names)).size === Object.keys(NAMES).length;
  return isClear ? (names as SealedLayout['names']) : null;
}

/** The layout of sealed bodies, for ingress and for redrives. */
export const layoutSetting = setting(
  'ENCRYPTION_LAYOUT',
  { about: `layout of a sealed body: ${LAYOUT_HELP}`, fallback: DEFAULT_LAYOUT },
  (value) => {
    const layout = parseLayout(value);
    if (!layout) throw new Fault(`is ${JSON.stringify(value)}: ${LAYOUT_HELP}.`);
    return layout;
  },
);
