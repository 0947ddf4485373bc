import { SandboxError } from '../core/errors.ts';
import { EVENT_SPELLINGS } from '../core/event-names.ts';
import { type Json, type JsonObject, POINTER_PATTERN } from '../core/json.ts';

/** The body of `POST /_sandbox/trigger`, with the defaults filled in by the schema below. */
export type TriggerRequest = {
  readonly event: string;
  readonly count: number;
  readonly rate?: number;
  readonly entities?: number;
  readonly ordered: boolean;
  readonly retry: boolean;

  readonly ref?: string;
  readonly subscriptionId?: string;
  readonly url?: string;

  readonly seed?: number;
  readonly at?: string;
  readonly spelling: 'hyphen' | 'underscore';
  readonly unknownType: boolean | string;
  readonly status: string;
  readonly transactions: number;
  readonly overrides?: JsonObject;
  readonly set: Readonly<Record<string, Json>>;
  readonly sizeBytes?: number;
  readonly rawBody?: string;

  readonly sealed: boolean;
  readonly layout?: string;
  readonly envelope: { readonly iv: string; readonly tag: string; readonly data: string };
  readonly wrongKey: boolean;
  readonly tamper?: 'signature' | 'body';
  /** null removes a header, a list sends it several times. */
  readonly headers: ExtraHeaders;

  readonly wait: boolean | 'first' | 'final';
  readonly waitMs: number;
  readonly bodies: boolean;
};

/** More than the interface's 50 MB, so that a test can see a receiver refuse a larger body. */
const MAX_BYTES = 64 * 1024 * 1024;

const text = { type: 'string', minLength: 1 };
const no = { type: 'boolean', default: false };
const yes = { type: 'boolean', default: true };
const pointers = { propertyNames: { type: 'string', pattern: POINTER_PATTERN } };
const whole = (maximum: number, more: object = {}) => ({ type: 'integer', minimum: 1, maximum, ...more });
const named = (name: string) => ({ ...text, default: name });

export const TRIGGER_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: {
    event: { enum: EVENT_SPELLINGS, default: 'payment-status' },
    count: whole(1_000_000, { default: 1 }),
    rate: { type: 'number', exclusiveMinimum: 0, maximum: 100_000 },
    entities: whole(1_000_000),
    ordered: no,
    retry: yes,
    ref: text,
    subscriptionId: text,
    url: text,
    seed: { type: 'integer' },
    at: { ...text, format: 'date-time' },
    spelling: { enum: ['hyphen', 'underscore'], default: 'hyphen' },
    unknownType: { type: ['boolean', 'string'], default: false },
    status: { type: 'string', default: 'ACCC' },
    transactions: whole(200_000, { default: 1 }),
    overrides: { type: 'object' },
    set: { type: 'object', ...pointers, default: {} },
    sizeBytes: whole(MAX_BYTES),
    rawBody: { type: 'string', maxLength: MAX_BYTES },
    sealed: no,
    layout: text,
    envelope: {
      type: 'object',
      additionalProperties: false,
      properties: { iv: named('iv'), tag: named('tag'), data: named('data') },
      default: {},
    },
    wrongKey: no,
    tamper: { enum: ['signature', 'body'] },
    headers: {
      type: 'object',
      additionalProperties: { type: ['string', 'array', 'null'], items: { type: 'string' } },
      default: {},
    },
    wait: { enum: [true, false, 'first', 'final'], default: false },
    waitMs: whole(600_000, { default: 60_000 }),
    bodies: yes,
  },
} as const;

/** Headers that cannot be set: a wrong value would break our own connection and not test the receiver. */
const TRANSPORT = [
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
];

type ExtraHeaders = Readonly<Record<string, string | string[] | null>>;

/** The headers of a trigger by lower-case names, in the form of RFC 9110, section 5. */
export function readHeaders(headers: ExtraHeaders): ExtraHeaders {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const lower = name.toLowerCase();
      if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(lower)) throw refusal(name, 'is not a header name');
      if (TRANSPORT.includes(lower)) throw refusal(name, 'is set by the transport and cannot be given');
      if (![value ?? []].flat().every((one) => /^[\t\x20-\x7e]*$/.test(one))) {
        throw refusal(name, 'must have a value of printable ASCII characters');
      }
      return [lower, value];
    }),
  );
}

const refusal = (name: string, why: string) =>
  new SandboxError('invalid_request', `headers: ${JSON.stringify(name.slice(0, 60))} ${why}.`);
