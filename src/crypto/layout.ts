/** How a sealed body is laid out: where the sealed bytes stand, in which text form, and in which order. */
export type SealedLayout = {
  /** The whole body, or the message's `payload` field. */
  readonly place: 'body' | 'payload';
  readonly form: 'bytes' | 'base64' | 'hex' | 'envelope';
  readonly ivLength: 12 | 16;
  readonly tagFirst: boolean;
  /** Of an envelope: the names of its three fields and how their values are written. */
  readonly names: { readonly iv: string; readonly tag: string; readonly data: string };
  readonly encoding: 'base64' | 'hex';
};

export const DEFAULT_LAYOUT = 'iv12.ciphertext.tag16';

export const LAYOUT_HELP =
  'give [payload:][base64:|hex:]ORDER, where ORDER is iv12.ciphertext.tag16, iv12.tag16.ciphertext, ' +
  'iv16.ciphertext.tag16 or iv16.tag16.ciphertext, or [payload:]json[:hex][:iv=NAME,tag=NAME,data=NAME]';

const ORDER = /^iv(12|16)\.(ciphertext\.tag16|tag16\.ciphertext)$/;
const NAMES = { iv: 'iv', tag: 'tag', data: 'data' };

/**
 * Parses `ENCRYPTION_LAYOUT`. The interface names the algorithm and shows no layout, so that it is configured.
 * @returns the layout, or null where the text is none ({@link LAYOUT_HELP} says what is).
 */
export function parseLayout(text: string): SealedLayout | null {
  const parts = text.split(':');
  const place = parts[0] === 'payload' ? 'payload' : 'body';
  if (place === 'payload') parts.shift();
  if (parts[0] === 'json') return parseEnvelope(place, parts.slice(1));
  const form = parts[0] === 'base64' || parts[0] === 'hex' ? parts[0] : 'bytes';
  if (form !== 'bytes') parts.shift();
  const order = ORDER.exec(parts[0] ?? '');
  // Raw bytes can't stand in a JSON string.
  if (!order || parts.length > 1 || (place === 'payload' && form === 'bytes')) return null;
  const ivLength = order[1] === '12' ? 12 : 16;
  return {
    place,
    form,
    ivLength,
    tagFirst: order[2] === 'tag16.ciphertext',
    names: NAMES,
    encoding: 'base64',
  };
}

function parseEnvelope(place: 'body' | 'payload', parts: string[]): SealedLayout | null {
  const encoding = parts[0] === 'hex' || parts[0] === 'base64' ? parts[0] : 'base64';
  if (parts[0] === encoding) parts.shift();
  const names = parts.length === 0 ? NAMES : parseNames(parts.join(':'));
  return names && { place, form: 'envelope', ivLength: 12, tagFirst: false, names, encoding };
}

function parseNames(text: string): SealedLayout['names'] | null {
  const names: Record<string, string> = { ...NAMES };
  for (const pair of text.split(',')) {
    const [field, name, ...rest] = pair.split('=');
    if (!field || !(field in NAMES) || !name || rest.length > 0) return null;
    names[field] = name;
  }
  return names as SealedLayout['names'];
}
