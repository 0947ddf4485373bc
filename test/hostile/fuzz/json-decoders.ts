import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { JsonTooLarge, parseBoundedJson, parsePointer, resolvePointer } from '../../../src/core/json.ts';
import { isJson, memberSpans, NotJson } from '../../../src/core/json-scanner.ts';
import type { Outcome } from '../../../src/provider/call-provider.ts';
import { DEFAULT_DIALECT } from '../../../src/provider/dialect.ts';
import { createProviderApi } from '../../../src/provider/provider-api.ts';
import { jsonText } from '../../avro/transcode/json-text.ts';
import { ownEventSchemas } from '../../support/event-schemas.ts';
import { changed, changes, fuzzed, must, outcome } from './fuzzed.ts';

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** JSON.parse is the judge: the value, or undefined where the bytes are no JSON. */
function judged(bytes: Buffer): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(UTF8.decode(bytes)) };
  } catch {
    return undefined;
  }
}

const NAMES = ['type', 'entityId', 'payload', 'pacs002', 'FIToFIPmtStsRpt', 'TxInfAndSts', 'GrpHdr', 'MsgId'];
const message = fc.record({ text: jsonText(NAMES), changes });
const bytesOf = ({ text, changes: by }: { text: string; changes: Parameters<typeof changed>[1] }) => {
  const whole = Buffer.from(text.toWellFormed());
  return changed(whole, by) ?? whole;
};
const isUtf8 = (bytes: Buffer) => Buffer.from(bytes.toString()).equals(bytes);

const events = ownEventSchemas().all;
const ENVELOPE = { eventId: 'e', subscription: 'team-a', receivedAt: 1_795_168_800_000 };
const LIMITS = { maxValues: 40, maxDepth: 8 };

function answering(body: unknown) {
  const done: Outcome = { judgement: 'done', status: 200, body, why: '', retryAfterMs: null };
  return createProviderApi(async () => done, DEFAULT_DIALECT);
}

const item = fc.record(
  {
    id: fc.oneof(fc.constantFrom('a', 'b', '..', 'x'.repeat(300), '\ud800'), fc.anything()),
    url: fc.oneof(fc.webUrl(), fc.anything()),
    events: fc.oneof(fc.array(fc.string()), fc.anything()),
    active: fc.oneof(fc.boolean(), fc.anything()),
  },
  { requiredKeys: [] },
);

export const jsonDecoders = [
  fuzzed('the JSON scanner', 4, message, (input) => {
    const bytes = bytesOf(input);
    if (!isUtf8(bytes)) return;
    must(isJson(bytes) === (judged(bytes) !== undefined), 'another judgement than that of JSON.parse');
  }),
  fuzzed(
    'the transcoder',
    3,
    fc.record({ input: message, schema: fc.constantFrom(...events) }),
    async ({ input, schema }) => {
      const bytes = bytesOf(input);
      if (!isUtf8(bytes)) return;
      const parsed = judged(bytes);
      const end = await outcome(
        () => schema.transcoder.find(bytes),
        (error) => error instanceof NotJson,
      );
      must('value' in end === (parsed !== undefined), 'another judgement than that of JSON.parse');
      if (!('value' in end) || !parsed) return;
      const record = schema.codec.decode(end.value.write(ENVELOPE, 7, () => {}).subarray(5));
      must(record.source === bytes.toString(), 'the source is not the message');
      const type = resolvePointer(parsed.value, ['type']);
      must(
        record.type === (typeof type === 'string' && type.isWellFormed() ? type : null),
        'another type than JSON.parse reads',
      );
    },
  ),
  fuzzed('bounded JSON', 2, message, async (input) => {
    const text = bytesOf(input).toString();
    const end = await outcome(
      () => parseBoundedJson(text, LIMITS),
      (error) => error instanceof JsonTooLarge || error instanceof SyntaxError,
    );
    if ('value' in end)
      must(isDeepStrictEqual(end.value, JSON.parse(text)), 'another value than that of JSON.parse');
    else if (end.error instanceof SyntaxError)
      must(judged(Buffer.from(text)) === undefined, 'refused what JSON.parse takes');
    else must(text.split(/[{[,]/).length > LIMITS.maxDepth, 'too large, and is small');
  }),
  fuzzed(
    'a member of a JSON text',
    2,
    fc.record({ text: jsonText(NAMES), name: fc.constantFrom(...NAMES) }),
    ({ text, name }) => {
      const whole = text.toWellFormed();
      const parsed: unknown = JSON.parse(whole);
      if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return;
      const bytes = Buffer.from(whole);
      const span = memberSpans(bytes, [name])?.get(name);
      must((span !== undefined) === Object.hasOwn(parsed, name), 'found what is not there, or not what is');
      if (span)
        must(
          isDeepStrictEqual(
            JSON.parse(bytes.toString('utf8', span.start, span.end)),
            resolvePointer(parsed, [name]),
          ),
          'another value',
        );
    },
  ),
  fuzzed(
    'JSON pointers',
    1,
    fc.record({
      text: fc.oneof(
        fc.string(),
        fc.array(fc.constantFrom('/', '~0', '~1', '~', 'a', '0')).map((all) => all.join('')),
      ),
      value: fc.anything(),
    }),
    ({ text, value }) => {
      const steps = parsePointer(text);
      if (!steps) return;
      const again = steps.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
      must(again === text, 'read otherwise than it is written');
      resolvePointer(value, steps);
    },
  ),
  fuzzed(
    "the provider's answers",
    2,
    fc.oneof(fc.array(item, { maxLength: 5 }), fc.anything()),
    async (body) => {
      const api = answering(body);
      const { items } = await api.list();
      const ids = items?.map(({ id }) => id) ?? [];
      for (const id of ids) {
        const path = `/subscription/${encodeURIComponent(id)}`;
        must(
          id.length <= 200 && new URL(path, 'http://provider').pathname === path,
          'an id that leads elsewhere',
        );
      }
      must(new Set(ids).size === ids.length, 'one id twice');
      const { created } = await api.create({}, {});
      if (created) must(typeof created.id === 'string' && created.id.length <= 200, 'an id that is none');
    },
  ),
];
