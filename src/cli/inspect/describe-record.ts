import { leadingFieldsOf, type RecordReader } from '../../avro/record-reader.ts';
import { shortText } from '../../core/cut-text.ts';
import type { IncomingRecord } from '../../core/record.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../delivery/dead-letter/dead-letter-headers.ts';
import { StateFence, type StateVerdict } from '../../subscriptions/state-fence.ts';
import type { Mask } from '../shell/mask.ts';

/** The kind of topic that a record is in. */
export type TopicKind = 'command' | 'result' | 'state' | 'dead letter' | 'event';

/** What a record says about what is searched for. */
export type Description = {
  /** What happened, in a word or two. */
  readonly step: string;
  readonly what: string;
  /** Of an event, also a dead-lettered one. */
  readonly eventId?: string;
  readonly ref?: string;
  /** When the webhook was received, in milliseconds since 1970. */
  readonly receivedAt?: number;
};

/** null: the record is about something else. */
export type Describe = (record: IncomingRecord, wanted: string) => Promise<Description | null>;

export type Describers = Readonly<Record<TopicKind, Describe>>;

type Fields = Readonly<Record<string, unknown>>;

/**
 * By kind of topic: decides whether a record is about the ref, id or entity, and describes it.
 * @param verdictOf whether a record of the state topic counts; by default judged by those before it, in the order of the calls
 */
export function describers(
  read: RecordReader,
  mask: Mask,
  verdictOf: (record: IncomingRecord) => StateVerdict = judgeInOrder(),
): Describers {
  const fieldsOf = async (value: Buffer | null, wanted: string): Promise<Fields | null> => {
    // Both JSON and Avro contain texts as they are: a value without this text needs no decoding.
    if (!value?.includes(wanted)) return null;
    return readFields(value, read);
  };
  const isAbout = (fields: Fields | null, wanted: string): fields is Fields =>
    fields !== null && [fields.commandId, fields.ref, fields.subscriptionId].includes(wanted);
  return {
    async command({ value }, wanted) {
      const fields = await fieldsOf(value, wanted);
      if (!isAbout(fields, wanted)) return null;
      const step = fields.type === 'webhook.replay' ? 'replay requested' : 'command';
      const what = joinTexts([fields.type, by(fields.issuedBy), id(fields.commandId)]);
      return { step, what };
    },
    async result({ value }, wanted) {
      const fields = await fieldsOf(value, wanted);
      if (!isAbout(fields, wanted)) return null;
      return { step: fields.status === 'DRIFT' ? 'drift' : 'result', what: describeResult(fields) };
    },
    async state(record, wanted) {
      // Before any await: the fence must see the records in their order.
      const verdict = verdictOf(record);
      if (verdict === 'own') return null;
      const { key, value } = record;
      const late = verdict === 'fenced' && 'ignored: written by a process that had been replaced';
      const fields = await fieldsOf(value, wanted);
      if (value === null)
        return key?.toString() === wanted ? { step: 'state', what: joinTexts(['forgotten', late]) } : null;
      if (!isAbout(fields, wanted)) return null;
      const by = `written by command ${fields.commandId}`;
      return { step: 'state', what: joinTexts([fields.state, fields.subscriptionId, by, late]) };
    },
    async event({ topic, key, headers }, wanted) {
      const { ce_id: eventId, ce_type: type, ce_source: source, ce_subject: subject } = headers;
      if (![key?.toString(), eventId, subject].includes(wanted) && source !== `/webhooks/${wanted}`)
        return null;
      const redriven = headers[NAMES.redrivenFrom];
      const entityId = subject === undefined ? '-' : mask.entity(topic, subject);
      const from = redriven && `redriven from ${redriven}`;
      return {
        step: redriven === undefined ? 'stored' : 'redriven',
        what: joinTexts([type, `entity ${entityId}`, source, id(eventId), from]),
        ...eventOf(eventId, refOfEvent(headers), Date.parse(headers.ce_time ?? '')),
      };
    },
    async 'dead letter'({ key, headers }, wanted) {
      const names = [NAMES.eventId, NAMES.ref, NAMES.commandId, NAMES.subscriptionId];
      if (![key?.toString(), ...names.map((name) => headers[name])].includes(wanted)) return null;
      const eventId = headers[NAMES.eventId];
      const to = headers[NAMES.redrivenTo];
      const event = eventOf(eventId, headers[NAMES.ref], Number(headers[NAMES.receivedAt]));
      if (to !== undefined)
        return { step: 'marked as redriven', what: joinTexts([`redriven to ${to}`, id(eventId)]), ...event };
      if (headers[NAMES.dismissalOf] !== undefined) {
        const { [NAMES.dismissedBy]: who, [NAMES.dismissedReason]: reason } = headers;
        return { step: 'dismissed', what: joinTexts([by(who), reason, id(eventId)]), ...event };
      }
      const why = joinTexts([headers[NAMES.stage], headers[NAMES.code], headers[NAMES.message]]);
      const what = joinTexts([why, partOf(headers), id(eventId ?? headers[NAMES.commandId])]);
      return { step: 'dead-lettered', what, ...event };
    },
  };
}

/**
 * Texts and numbers of a command, a result or a state; null where the value cannot be read. Of Avro that is too large to be read whole
 * they are those of its beginning.
 */
export async function readFields(value: Buffer, read: RecordReader): Promise<Fields | null> {
  try {
    return scalarsOf(value[0] === 0 ? await read(value) : JSON.parse(value.toString()));
  } catch (error) {
    return value[0] === 0 ? scalarsOf(leadingFieldsOf(error)) : null;
  }
}

function judgeInOrder(): (record: IncomingRecord) => StateVerdict {
  const fence = new StateFence();
  return (record) => fence.check(record);
}

function describeResult(fields: Fields): string {
  const { status, errorCode, message, attempts, commandId, commandTopic } = fields;
  // Drift that control reports on its own is caused by no command.
  const of = commandTopic && `of ${commandTopic}[${fields.commandPartition}]@${fields.commandOffset}`;
  // A large one may have been read in part.
  const requests = attempts !== undefined && `${attempts} request(s)`;
  return joinTexts([status, errorCode, message, requests, of, id(commandId)]);
}

const eventOf = (eventId: string | undefined, ref: string | undefined, receivedAt: number) => ({
  ...(eventId !== undefined && { eventId }),
  ...(ref !== undefined && { ref }),
  ...(Number.isSafeInteger(receivedAt) && { receivedAt }),
});

function partOf(headers: IncomingRecord['headers']): string | false {
  const parts = headers[NAMES.parts];
  return parts !== undefined && parts !== '1' && `part ${headers[NAMES.part]} of ${parts}`;
}

/** The ref through which an event came. */
export const refOfEvent = ({ ce_source: source }: IncomingRecord['headers']): string | undefined =>
  source?.replace('/webhooks/', '');

/** Only texts and numbers are shown. An object may not even convert to a text: `{"toString":null}`. */
function scalarsOf(fields: unknown): Fields | null {
  if (typeof fields !== 'object' || fields === null) return null;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value !== 'object'));
}

/** Characters of each text of a record, as in results: whoever may write a command may write a megabyte, which no table shows in time. */
const MAX_TEXT = 2_000;

const by = (issuer: unknown) => issuer && `by ${issuer}`;
const id = (value: unknown) => value && `id ${value}`;
const joinTexts = (texts: readonly unknown[]) =>
  texts
    .filter((text) => text !== null && text !== undefined && text !== '' && text !== false)
    .map((text) => shortText(String(text), MAX_TEXT))
    .join(', ');
