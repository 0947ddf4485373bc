import type { SourcePolicy } from '../../../src/avro/event-schema.ts';
import { COMMAND_TYPES, MAX_EXECUTION_IDS, RESULT_STATUSES } from '../../../src/core/command.ts';
import { OWN_TOPICS, REF } from '../../../src/core/names.ts';
import { SUBSCRIPTION_STATES } from '../../../src/subscriptions/subscription-record.ts';

/** What a contract promises beyond types: of the records together, and of fields by their dotted path. */
export type Rules = {
  readonly records: readonly object[];
  readonly fields: Readonly<Record<string, FieldRules>>;
};
type FieldRules = { readonly quality?: readonly object[]; readonly logicalTypeOptions?: object };

/** Any UUID; event ids are of version 8. */
const UUID = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$';
const SHA256 = '^[0-9a-f]{64}$';
/** ODCS has the name of the table put there. */
const TABLE = `\${object}`;
/** Clocks of different hosts differ by less. */
const CLOCK_SKEW = "INTERVAL '5 minutes'";

type Said = { id: string; description: string; dimension: string };

const sql = (said: Said, query: string) => ({ ...said, type: 'sql', query, mustBe: 0 });
const valid = (said: Said, args: object) => ({
  ...said,
  type: 'library',
  metric: 'invalidValues',
  arguments: args,
  mustBe: 0,
});
const notNull = (said: Said, more: object = {}) => ({
  ...said,
  type: 'library',
  metric: 'nullValues',
  mustBe: 0,
  ...more,
});
const text = (said: Said) => ({ ...said, type: 'text' });

const ofPast = (field: string) =>
  sql(
    {
      id: `${field}-is-past`,
      description: `${field} is not in the future`,
      dimension: 'timeliness',
    },
    `SELECT count(*) FROM ${TABLE} WHERE ${field} > now() + ${CLOCK_SKEW}`,
  );

/** Where the messages of a type are, by its policy. */
const SOURCE: Readonly<Record<SourcePolicy, { description: string; wrong: string }>> = {
  keep: {
    description: 'a record holds its message, or says where it is',
    wrong: '(source IS NULL) = (sourceRef IS NULL)',
  },
  reference: {
    description: 'a record says where its message is, and does not hold it',
    wrong: 'source IS NOT NULL OR sourceRef IS NULL',
  },
  omit: { description: 'a record does not hold its message', wrong: 'source IS NOT NULL' },
};

/** Of an event topic. There is no `unique` eventId: delivery is at least once, and a repeat has the id of its event. */
export function eventRules({
  eventTypes,
  source,
}: {
  eventTypes: readonly string[];
  source: SourcePolicy;
}): Rules {
  const claimed = [
    notNull({
      id: 'type-is-known',
      description: 'an event of this topic names its type',
      dimension: 'completeness',
    }),
    valid(
      { id: 'type-is-claimed', description: 'a spelling of this type', dimension: 'conformity' },
      { validValues: eventTypes },
    ),
  ];
  return {
    records: [
      sql(
        {
          id: 'one-message-per-event-id',
          description: 'records of one eventId have the same message',
          dimension: 'uniqueness',
        },
        `SELECT count(*) FROM (SELECT eventId FROM ${TABLE} GROUP BY eventId ` +
          'HAVING count(DISTINCT source) > 1 OR count(DISTINCT sourceRef.sha256) > 1) AS several',
      ),
      sql(
        { id: 'message-is-somewhere', description: SOURCE[source].description, dimension: 'completeness' },
        `SELECT count(*) FROM ${TABLE} WHERE ${SOURCE[source].wrong}`,
      ),
    ],
    fields: {
      eventId: {
        logicalTypeOptions: { format: 'uuid' },
        quality: [
          valid(
            { id: 'event-id-is-a-uuid', description: 'eventId is a UUID', dimension: 'conformity' },
            { pattern: UUID },
          ),
        ],
      },
      ...(eventTypes.length > 0 && { type: { quality: claimed } }),
      entityId: {
        quality: [
          notNull(
            {
              id: 'entity-is-known',
              description: 'an event names its entity; without it, the event id is the key of the record',
              dimension: 'completeness',
            },
            { severity: 'warning' },
          ),
        ],
      },
      subscription: { logicalTypeOptions: { pattern: REF.source } },
      receivedAt: { quality: [ofPast('receivedAt')] },
      'sourceRef.bytes': { logicalTypeOptions: { minimum: 1 } },
      'sourceRef.sha256': { logicalTypeOptions: { pattern: SHA256 } },
    },
  };
}

/** Of Hookline's own topics that hold Avro. */
export const OWN_RULES: Readonly<Record<string, Rules>> = {
  [OWN_TOPICS.commands]: {
    records: [
      sql(
        {
          id: 'ref-is-named',
          description: 'every command but subscription.list names its ref',
          dimension: 'completeness',
        },
        `SELECT count(*) FROM ${TABLE} WHERE ref IS NULL AND type <> 'subscription.list'`,
      ),
    ],
    fields: {
      type: {
        quality: [
          valid(
            { id: 'type-is-a-command', description: 'a type that control knows', dimension: 'conformity' },
            { validValues: COMMAND_TYPES },
          ),
        ],
      },
      ref: { logicalTypeOptions: { pattern: REF.source } },
      executionIds: { logicalTypeOptions: { maxItems: MAX_EXECUTION_IDS } },
    },
  },
  [OWN_TOPICS.results]: {
    records: [
      sql(
        {
          id: 'finished-after-received',
          description: 'a command is finished after its receipt',
          dimension: 'consistency',
        },
        `SELECT count(*) FROM ${TABLE} WHERE finishedAt < receivedAt`,
      ),
      text({
        id: 'first-result-counts',
        description:
          'Delivery is at least once: the first result of a commandId that is not a DUPLICATE counts.',
        dimension: 'uniqueness',
      }),
    ],
    fields: {
      status: {
        quality: [
          valid(
            { id: 'status-is-known', description: 'a status of docs/commands.md', dimension: 'conformity' },
            { validValues: RESULT_STATUSES },
          ),
        ],
      },
      attempts: { logicalTypeOptions: { minimum: 0 } },
      finishedAt: { quality: [ofPast('finishedAt')] },
    },
  },
  [OWN_TOPICS.subscriptions]: {
    records: [],
    fields: {
      ref: { logicalTypeOptions: { pattern: REF.source } },
      state: {
        quality: [
          valid(
            { id: 'state-is-known', description: 'a state of a subscription', dimension: 'conformity' },
            { validValues: SUBSCRIPTION_STATES },
          ),
        ],
      },
      updatedAt: { quality: [ofPast('updatedAt')] },
    },
  },
};
