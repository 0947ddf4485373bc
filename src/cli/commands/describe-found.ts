import type { RecordReader } from '../../avro/record-reader.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../delivery/dead-letter/store-dead-letter.ts';
import type { IncomingRecord } from '../../kafka/consume/incoming-record.ts';
import { StateFence } from '../../subscriptions/state-fence.ts';

/** What kind of topic a record stands in. */
export type TopicKind = 'command' | 'result' | 'state' | 'dead letter' | 'event';

/** What a record says of what is looked for, in words; null where it is about something else. */
export type Describe = (record: IncomingRecord, wanted: string) => Promise<string | null>;

type Fields = Readonly<Record<string, unknown>>;

/** By kind of topic: whether a record is about a ref, a command's id, an event's id or an entity, and what happened. */
export function describers(read: RecordReader): Readonly<Record<TopicKind, Describe>> {
  const fieldsOf = async (value: Buffer | null, wanted: string): Promise<Fields | null> => {
    // Texts stand in JSON and in Avro as they are: what doesn't hold it needs no decoding.
    if (!value?.includes(wanted)) return null;
    try {
      return scalarsOf(value[0] === 0 ? await read(value) : JSON.parse(value.toString()));
    } catch {
      return null;
    }
  };
  const fence = new StateFence();
  const isAbout = (fields: Fields | null, wanted: string): fields is Fields =>
    fields !== null && [fields.commandId, fields.ref, fields.subscriptionId].includes(wanted);
  return {
    async command({ value }, wanted) {
      const fields = await fieldsOf(value, wanted);
      return isAbout(fields, wanted)
        ? inWords([fields.type, by(fields.issuedBy), id(fields.commandId)])
        : null;
    },
    async result({ value }, wanted) {
      const fields = await fieldsOf(value, wanted);
      if (!isAbout(fields, wanted)) return null;
      const {
        status,
        errorCode,
        message,
        attempts,
        commandId,
        commandTopic,
        commandPartition,
        commandOffset,
      } = fields;
      // Drift is told of no command.
      const of = commandTopic && `of ${commandTopic}[${commandPartition}]@${commandOffset}`;
      return inWords([status, errorCode, `${message}`, `${attempts} request(s)`, of, id(commandId)]);
    },
    async state(record, wanted) {
      // At once, while the records come in their order.
      const verdict = fence.judge(record);
      if (verdict === 'own') return null;
      const { key, value } = record;
      const late = verdict === 'fenced' && 'does not count: a process wrote it whose place another had taken';
      const fields = await fieldsOf(value, wanted);
      if (value === null) return key?.toString() === wanted ? inWords(['forgotten', late]) : null;
      if (!isAbout(fields, wanted)) return null;
      const by = `written by command ${fields.commandId}`;
      return inWords([fields.state, fields.subscriptionId, by, late]);
    },
    async event({ key, headers }, wanted) {
      const { ce_id: eventId, ce_type: type, ce_source: source } = headers;
      const isWanted =
        [key?.toString(), eventId, headers.ce_subject].includes(wanted) || source === `/webhooks/${wanted}`;
      const redriven = headers[NAMES.redrivenFrom];
      return isWanted
        ? inWords([
            type,
            `entity ${headers.ce_subject ?? '-'}`,
            source,
            id(eventId),
            redriven && `redriven from ${redriven}`,
          ])
        : null;
    },
    async 'dead letter'({ key, headers }, wanted) {
      const about = [NAMES.eventId, NAMES.ref, NAMES.commandId, NAMES.subscriptionId].map(
        (name) => headers[name],
      );
      if (![key?.toString(), ...about].includes(wanted)) return null;
      const to = headers[NAMES.redrivenTo];
      if (to !== undefined) return inWords([`redriven to ${to}`, id(headers[NAMES.eventId])]);
      const why = inWords([headers[NAMES.stage], headers[NAMES.code], headers[NAMES.message]]);
      return inWords([why, id(headers[NAMES.eventId] ?? headers[NAMES.commandId])]);
    },
  };
}

/** What is told are texts and numbers. An object in their place may not even become a text: `{"toString":null}`. */
function scalarsOf(fields: unknown): Fields | null {
  if (typeof fields !== 'object' || fields === null) return null;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value !== 'object'));
}

const by = (issuer: unknown) => issuer && `by ${issuer}`;
const id = (value: unknown) => value && `id ${value}`;
const inWords = (parts: readonly unknown[]) =>
  parts.filter((part) => part !== null && part !== undefined && part !== '' && part !== false).join(', ');
