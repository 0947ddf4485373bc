import { refOfEvent, type TopicKind } from '../../cli/inspect/describe-record.ts';
import type { IncomingRecord } from '../../core/record.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../delivery/dead-letter/dead-letter-headers.ts';

/** Kinds of topics whose records name their ids in their values alone, which must be decoded. */
export const needsDecoding = (kind: TopicKind): boolean =>
  kind === 'command' || kind === 'result' || kind === 'state';

/**
 * What a record can be found by: the texts that the describers of `hookline inspect` compare.
 * @param fields of a decoded value, where the kind needs decoding
 */
export function termsOf(
  kind: TopicKind,
  { key, headers }: Pick<IncomingRecord, 'key' | 'headers'>,
  fields: Readonly<Record<string, unknown>> = {},
): Set<string> {
  const terms = new Set<string>();
  const add = (text: unknown) => {
    if (typeof text === 'string' && text !== '') terms.add(text);
  };
  switch (kind) {
    case 'event':
      add(headers.ce_id);
      add(headers.ce_subject);
      add(refOfEvent(headers));
      add(key?.toString());
      break;
    case 'dead letter':
      for (const name of [NAMES.eventId, NAMES.ref, NAMES.commandId, NAMES.subscriptionId])
        add(headers[name]);
      add(key?.toString());
      break;
    default:
      for (const name of ['commandId', 'ref', 'subscriptionId']) add(fields[name]);
      add(key?.toString());
  }
  return terms;
}

/**
 * 52 bits of a text (two 32-bit multiply-xor hashes): the index holds numbers and no ids of payments. Texts may share a
 * number, so that what is found is compared with the record itself.
 */
export function hashOf(text: string): number {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    high = Math.imul(high ^ code, 2_654_435_761);
    low = Math.imul(low ^ code, 1_597_334_677);
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  return (high >>> 12) * 4_294_967_296 + (low >>> 0);
}
