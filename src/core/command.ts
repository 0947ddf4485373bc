import type { OutgoingRecord } from './record.ts';

/** What a team can ask control for. */
export const COMMAND_TYPES = [
  'subscription.create',
  'subscription.update',
  'subscription.delete',
  'subscription.list',
  'subscription.adopt',
  'webhook.replay',
] as const;
export type CommandType = (typeof COMMAND_TYPES)[number];

/** What a command is known by: printable, as it is a record's key and part of an address of the console. */
export const isCommandId = (text: string): boolean => /^[\x21-\x7e]{1,200}$/.test(text);

/** Runs that one command may have replayed: it holds a place among the commands until the last one was asked for. */
export const MAX_EXECUTION_IDS = 1_000;

/** Who issues what Hookline sends of itself: repairs, and the plans of `hookline subscriptions`. */
export const RECONCILER = 'hookline-reconciler';
export const PLANNER = 'hookline subscriptions';
export const OWN_ISSUERS: readonly string[] = [RECONCILER, PLANNER];

/** A command that has been read and is complete in itself; whether it may be carried out is another question. */
export type Command = {
  readonly commandId: string;
  readonly type: CommandType;
  /** Empty of `subscription.list` alone. */
  readonly ref: string;
  readonly events: readonly string[] | null;
  readonly executionIds: readonly string[] | null;
  readonly extra: Readonly<Record<string, unknown>>;
  readonly issuedBy: string | null;
  /** Milliseconds since 1970. */
  readonly expiresAt: number | null;
  readonly dryRun: boolean;
  /** The id of the command that changed the ref last; where another one has since, this one is not carried out. */
  readonly ifMatch: string | null;
  /** Unknown fields: ignored, and named in the result. */
  readonly unknownFields: readonly string[];
};

/** A command as a record of its topic. Commands of one ref share a key, so that they keep their order. */
export const commandRecord = (
  topic: string,
  command: { readonly commandId: string; readonly ref?: string | undefined },
): OutgoingRecord => ({
  topic,
  key: Buffer.from(command.ref ?? command.commandId),
  value: Buffer.from(JSON.stringify(command)),
  headers: new Map(),
});

/** The position of a command in Kafka: the same position again is the same command, not a duplicate. */
export type CommandPosition = { readonly topic: string; readonly partition: number; readonly offset: number };

/** DRIFT is not the status of a command: the reconciler reports with it that the provider differs from the state. */
export const RESULT_STATUSES = ['SUCCEEDED', 'REJECTED', 'FAILED', 'EXPIRED', 'DUPLICATE', 'DRIFT'] as const;
export type ResultStatus = (typeof RESULT_STATUSES)[number];

/** The one terminal answer to a command (schemas/commands/command-result.avsc). */
export type CommandResult = {
  readonly commandId: string;
  readonly type: string;
  readonly ref: string | null;
  readonly status: ResultStatus;
  readonly subscriptionId: string | null;
  readonly httpStatus: number | null;
  readonly errorCode: string | null;
  readonly message: string | null;
  readonly attempts: number;
  readonly subscriptions: readonly ListedSubscription[] | null;
  readonly drift: readonly ListedDrift[] | null;
  readonly issuedBy: string | null;
  readonly dryRun: boolean;
  readonly receivedAt: number;
  readonly finishedAt: number;
  readonly commandTopic: string;
  readonly commandPartition: number;
  readonly commandOffset: number;
};

export type ListedSubscription = {
  readonly subscriptionId: string;
  readonly url: string | null;
  readonly events: readonly string[] | null;
  readonly ref: string | null;
};

/** One way in which the provider differs from the state. */
export type ListedDrift = {
  /** null of what is foreign. */
  readonly ref: string | null;
  readonly subscriptionId: string;
  readonly errorCode: string;
  readonly message: string;
};
