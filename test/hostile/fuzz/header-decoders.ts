import fc from 'fast-check';
import { hasCode } from '../../../src/core/errors.ts';
import { parseInstant } from '../../../src/core/instant.ts';
import { parsePosition, positionText } from '../../../src/core/record.ts';
import type { DeadLetterRecord } from '../../../src/dead-letters/dead-letter-record.ts';
import { DeadLetterIndex, redrivesOf, stateOf } from '../../../src/dead-letters/dead-letters.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../../src/delivery/dead-letter/dead-letter-headers.ts';
import { admitRequest } from '../../../src/ingress/receive-webhook.ts';
import { toIncomingRecord } from '../../../src/kafka/consume/consumer.ts';
import { retryAfterMs } from '../../../src/runtime/http-client.ts';
import { readTraceparent, writeTraceparent } from '../../../src/runtime/tracing.ts';
import { changed, changes, fuzzed, must, outcome } from './fuzzed.ts';

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length });
const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }));
const number = fc.oneof(fc.nat(), fc.constantFrom(-1, 1.5, 1e9, 1e300, NaN)).map(String);
const partNumber = fc.oneof(number, fc.constantFrom('1', '2', '3', '100000', '99999', '1e5', '0x10', ''));

const deadLetterHeaders = fc.record(
  {
    [NAMES.stage]: fc.constantFrom('PARSE', 'DECRYPT', 'COMMAND', 'x'),
    [NAMES.eventId]: fc.constantFrom('e-1', 'e-2'),
    [NAMES.receivedAt]: number,
    [NAMES.part]: partNumber,
    [NAMES.parts]: partNumber,
    [NAMES.redriveOf]: fc.oneof(text, fc.constantFrom('0:1', '0:1,0:2', ',,,')),
    [NAMES.redriveCount]: number,
    [NAMES.topic]: text,
  },
  { requiredKeys: [] },
);

const mediaTypes = fc.oneof(
  text,
  fc
    .tuple(
      fc.constantFrom(
        'application/json',
        'Application/JSON',
        'application/octet-stream',
        'text/plain',
        'application/jsonp',
      ),
      fc.constantFrom('', ' ', ';', '; charset=utf-8', ',application/json', '\t;x'),
    )
    .map((all) => all.join('')),
);

export const headerDecoders = [
  fuzzed(
    'traceparent',
    2,
    fc.record({ version: hex(2), trace: hex(32), span: hex(16), flags: hex(2), changes }),
    ({ version, trace, span, flags, changes: by }) => {
      const whole = `${version}-${trace}-${span}-${flags}`;
      const input = changed(Buffer.from(whole), by)?.toString('latin1') ?? whole;
      const read = readTraceparent(input);
      const parts = input.split('-');
      const isOne =
        parts.length === 4 &&
        [2, 32, 16, 2].every((length, n) => parts[n]?.length === length && /^[0-9a-f]*$/.test(parts[n])) &&
        parts[0] !== 'ff' &&
        BigInt(`0x${parts[1]}`) !== 0n &&
        BigInt(`0x${parts[2]}`) !== 0n;
      must((read !== null) === isOne, 'another judgement than that of W3C Trace Context');
      if (read) must(writeTraceparent(read) === `00-${parts.slice(1).join('-')}`, 'another one is passed on');
    },
  ),
  fuzzed(
    'the head of a webhook',
    2,
    fc.record({
      type: fc.option(mediaTypes, { nil: undefined }),
      coding: fc.option(fc.string(), { nil: undefined }),
      length: fc.option(number, { nil: undefined }),
    }),
    async ({ type, coding, length }) => {
      const headers = { 'content-type': type, 'content-encoding': coding, 'content-length': length };
      const end = await outcome(
        () => admitRequest(headers, 1_000),
        (error) => hasCode(error, 'MEDIA_TYPE_UNSUPPORTED', 'BODY_TOO_LARGE'),
      );
      if (!('value' in end)) return;
      const media = (type ?? '').split(';')[0]?.trim().toLowerCase();
      must(media === 'application/json' || media === 'application/octet-stream', 'takes another media type');
      must(coding === undefined && !(Number(length) > 1_000), 'takes what is coded or too large');
    },
  ),
  fuzzed(
    'Retry-After',
    1,
    fc.oneof(
      text,
      number,
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    ),
    (retryAfter) => {
      const ms = retryAfterMs({ retryAfter }, 1_000);
      must(ms === null || (ms >= 0 && ms <= 300_000), 'waits for ever');
    },
  ),
  fuzzed(
    'instants',
    1,
    fc.oneof(
      text,
      fc.anything(),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    ),
    (value) => {
      const instant = parseInstant(value);
      must(instant === undefined || !Number.isNaN(new Date(instant).getTime()), 'an instant that is none');
    },
  ),
  fuzzed(
    'dead-letter positions',
    1,
    fc.oneof(
      text,
      fc.tuple(number, number).map((both) => both.join(':')),
    ),
    (at) => {
      const place = parsePosition(at);
      if (place) must(parsePosition(positionText(place))?.offset === place.offset, 'another place');
      else must(!/^\d{1,9}:\d{1,9}$/.test(at), 'refused a place');
    },
  ),
  fuzzed(
    'dead-letter headers',
    1,
    fc.array(fc.record({ headers: deadLetterHeaders, offset: fc.bigInt({ min: 0n, max: 20n }) }), {
      maxLength: 6,
    }),
    (records) => {
      const index = new DeadLetterIndex();
      for (const { headers, offset } of records) {
        const record: DeadLetterRecord = {
          partition: 0,
          offset,
          timestamp: 0,
          key: null,
          bytes: 1,
          headers: headers as Record<string, string>,
        };
        index.take(record);
      }
      const deadLetters = index.deadLetters();
      must(deadLetters.length <= records.length, 'more dead-letter records than records');
      for (const one of deadLetters) {
        must(['open', 'redriven', 'incomplete'].includes(stateOf(one)), 'an unknown state');
        must(
          one.positions.length + one.missing.length <= 100 + records.length,
          'more parts than its records have',
        );
        must(redrivesOf(one) >= 0 || Number.isFinite(redrivesOf(one)), 'an invalid count');
      }
    },
  ),
  fuzzed(
    'headers of records',
    1,
    fc.dictionary(
      fc.string(),
      fc.oneof(
        fc.uint8Array().map((bytes) => Buffer.from(bytes)),
        fc.string(),
        fc.array(fc.string()),
      ),
    ),
    (headers) => {
      const message = { key: null, value: null, timestamp: '0', attributes: 0, offset: '5', headers };
      const read = toIncomingRecord('t', 0, message as never);
      must(
        Object.values(read.headers).every((value) => typeof value === 'string'),
        'a header that is no text',
      );
    },
  ),
];
