import { COMMAND_TYPES, type CommandResult } from '../core/command.ts';
import { HooklineError, hasCode } from '../core/errors.ts';
import type { IncomingRecord, Position } from '../core/record.ts';
import { deadLetterMetrics } from '../delivery/dead-letter/dead-letter-headers.ts';
import type { UnreadGap } from '../kafka/admin/unread-gaps.ts';
import type { ProcessContext } from '../runtime/process-shell.ts';
import { SUBSCRIPTION_STATES, type SubscriptionRecord } from '../subscriptions/subscription-record.ts';
import { controlMetrics } from './control-metrics.ts';
import { DRIFT_KINDS, type Drift } from './operations/find-drift.ts';
import { RecentRefusals } from './recent-refusals.ts';

/** After it the consumer counts as dead: its sessions and fetches are much shorter. */
const MAX_SILENCE_MS = 120_000;

const REFUSED = 'commands are not read: the brokers refuse the credentials or a right, trying again';
const NOT_READ =
  'commands are not read, trying again; if a topic is missing (hookline topics plan), no other one is read either';
const NOT_READ_NOW = 'commands are not read, trying again';

const DELETED_UNREAD =
  'the commands of these offsets were deleted before they were read, by the retention of the topic or by hand: they get no result, have their senders send them again';
const UNREAD_UNKNOWN =
  'commands up to this offset were deleted, and the brokers do not know whether they were read: have their senders send again what has no result. It is told at each start until the next command of this partition is read';
const GAPS_UNKNOWN =
  'it is not known whether commands were deleted before they were read, as the brokers could not be asked: where they were, have their senders send again what has no result';
const END_LOST =
  'the command topic ends before what was read of it: it has lost records at its end, or is another one of the same name. This partition is read from its beginning; have senders send again what has no result';

type Observed = Pick<ProcessContext, 'logger' | 'metrics' | 'clock'>;

/** What happens in control, as metrics and log lines; grouped by the component that reports it. */
export function observeControl({ logger, metrics, clock }: Observed) {
  const own = controlMetrics(metrics);
  const refusals = new RecentRefusals(clock);
  const { deadLetters } = deadLetterMetrics(metrics);
  // From the start, so that the first one is an increase: an alert sees no other.
  for (const type of [...COMMAND_TYPES, 'unknown']) own.commands.inc({ type, status: 'FAILED' }, 0);
  for (const outcome of ['refused', 'unauthorised', 'gone'])
    own.providerRequests.inc({ operation: 'POST oauth/token', outcome }, 0);
  deadLetters.inc({ stage: 'COMMAND' }, 0);
  const notRead = (err: Error) => {
    // It says all: a stack, as at a first start where this is usual, would look like a fault of ours.
    if (err instanceof HooklineError) logger.warn({ why: err.message }, NOT_READ_NOW);
    else logger.warn({ err }, NOT_READ);
  };
  return {
    /** One wide line per command. */
    finished(result: CommandResult) {
      // A type as received may be anything: each would become a series of its own.
      const type = COMMAND_TYPES.find((one) => one === result.type) ?? 'unknown';
      own.commands.inc({ type, status: result.status });
      own.commandSeconds.observe({ type }, (result.finishedAt - result.receivedAt) / 1_000);
      const { subscriptions, drift, ...line } = result;
      const listed = subscriptions?.length;
      const drifted = drift?.length;
      logger.info(
        { ...line, listed, drifted, ms: result.finishedAt - result.receivedAt },
        'command finished',
      );
    },
    unnamed: (err: unknown, commandId: string) =>
      logger.error({ err, commandId }, 'command failed with an unexpected error'),
    /** For readiness: while the brokers refuse to have its own topics read or written, why. */
    refused: () => refusals.trouble(),
    working(isWorking: boolean) {
      own.controlWorking.set(isWorking ? 1 : 0);
      logger.info(isWorking ? 'this process executes commands' : 'this process stands by');
    },
    silence: (ms: number) =>
      ms < MAX_SILENCE_MS ? null : `nothing heard of the consumer group for ${Math.round(ms / 1_000)} s`,
    subscriptions(records: readonly SubscriptionRecord[]) {
      for (const state of SUBSCRIPTION_STATES)
        own.subscriptions.set({ state }, records.filter((record) => record.state === state).length);
    },
    /** A rolling upgrade to other topics has such a member for a while: it is no reason to wait. */
    foreignMember: (why: string | null) =>
      why !== null &&
      logger.error(
        `CONTROL_GROUP_ID: ${why}: if it is of another installation, give each a group of its own`,
      ),
    /** At the start: what no process of the group will read. */
    unreadGaps(gaps: readonly UnreadGap[]) {
      for (const { kind, ...where } of gaps) {
        if (kind === 'unknown') logger.warn(where, UNREAD_UNKNOWN);
        else logger.error(where, kind === 'deleted' ? DELETED_UNREAD : END_LOST);
      }
    },
    /** What is not asked before the group is joined is not known afterwards. */
    unknownGaps: ({ message }: Error) => logger.warn({ why: message }, GAPS_UNKNOWN),
    overlap: (topics: string) =>
      logger.warn(
        `COMMAND_TOPICS: ${topics} share refs, and the first creator owns: make the patterns distinct`,
      ),
    reader: {
      onError: (err: unknown, { topic, partition, offset }: IncomingRecord) =>
        logger.error(
          { err, topic, partition, offset: String(offset) },
          'command could not be finished, it is tried again',
        ),
      onInterrupted: notRead,
      onRecreated: (topic: string) =>
        logger.warn(
          { topic },
          'the command topic was deleted and created anew: it is read from its beginning',
        ),
      onRefused(err: Error | null) {
        if (err === null) logger.info('commands are read again');
        else if (hasCode(err, 'KAFKA_REFUSED')) logger.warn({ err }, REFUSED);
        else notRead(err);
      },
    },
    state: {
      onUnreadable: (err: unknown, at: string) =>
        logger.error({ err, at }, 'record cannot be read and is skipped'),
      onAwaited: (err: unknown, at: string) =>
        logger.warn({ err, at }, 'record waits for the schema registry'),
      onBrokenOff(err: unknown, topic: string) {
        if (hasCode(err, 'KAFKA_REFUSED')) refusals.note(`to read ${topic}`, err);
        logger.warn({ err, topic }, 'the topic cannot be read, trying again');
      },
      onRecreated: (topic: string) =>
        logger.error(
          { topic },
          'the topic of subscriptions was deleted and created anew: what this process knows stays, and is written there again by the process that works; restart no control process before that',
        ),
    },
    records: {
      onDelay(topic: string, err: unknown) {
        if (hasCode(err, 'PUBLISH_REFUSED')) refusals.note(`to write ${topic}`, err);
        // Meanwhile the topic takes smaller ones.
        if (hasCode(err, 'RECORD_TOO_LARGE')) refusals.note(`the size of a record of ${topic}`, err);
        logger.warn({ topic, err }, 'not stored yet, trying again');
      },
      onStored: ({ topic }: Position) => refusals.over(`to write ${topic}`),
      onDeadLettered: () => deadLetters.inc({ stage: 'COMMAND' }),
    },
    claim: {
      onClaimed: (epoch: number) => logger.info({ epoch }, 'the state is claimed'),
      onFenced: (ref: string) =>
        logger.warn(
          { ref },
          'a late record of an earlier control process does not count: the state is written again',
        ),
      onMissing: (count: number) =>
        logger.warn({ count }, 'the topic of subscriptions lacks records: they are written there again'),
      onDropped: (count: number) =>
        logger.error(
          { count },
          'the topic of subscriptions lacks records, and another control process has worked since it was created anew: what only this process knew of them is dropped; see the runbook',
        ),
      onFailure: (err: unknown) =>
        logger.warn({ err }, 'the state cannot be claimed now: it is tried again with the next command'),
    },
    provider: {
      onNarrowerScope(missing: readonly string[]) {
        own.narrowerScope.inc();
        logger.warn({ missing }, 'the access token has fewer scopes than were asked for');
      },
      onRequest(operation: string, outcome: string, seconds: number) {
        own.providerRequests.inc({ operation, outcome });
        own.providerSeconds.observe({ operation }, seconds);
      },
      onToken: () => own.tokenObtained.setToCurrentTime(),
      /** Once for each change: the commands that wait say nothing of their own. */
      onUnavailable(why: string | null) {
        own.breakerOpen.set(why === null ? 0 : 1);
        if (why === null) logger.info('the provider answers again: commands continue');
        else logger.warn({ why }, 'the provider is unavailable: commands wait, none has failed');
      },
    },
    reconciler: {
      onDrift({ ref, subscriptionId, errorCode, message }: CommandResult) {
        const about = { ref, subscriptionId, errorCode, detail: message };
        if (errorCode === null) logger.info(about, 'drift has ended');
        else logger.warn(about, 'drift found');
      },
      onCompared(drifts: readonly Drift[]) {
        own.reconciled.setToCurrentTime();
        own.comparisonsFailed.set(0);
        for (const kind of DRIFT_KINDS)
          own.drift.set({ kind }, drifts.filter((drift) => drift.kind === kind).length);
      },
      onStandby() {
        own.reconciled.reset();
        own.comparisonsFailed.set(0);
        own.drift.reset();
        own.repairsWithheld.set(0);
      },
      onFailure(err: unknown) {
        own.comparisonsFailed.inc();
        logger.warn({ err }, 'the provider could not be compared with the state');
      },
      onWithheld(count: number) {
        if (count > 0)
          logger.warn({ count }, 'nothing is repaired: it would be more than RECONCILE_REPAIR_MAX');
        own.repairsWithheld.set(count);
      },
      onUnsent: (err: unknown, ref: string) =>
        logger.warn({ err, ref }, 'the command that would repair the subscription could not be sent'),
    },
    lag: {
      onLag: (topic: string, partition: number, records: number) =>
        own.commandLag.set({ topic, partition: String(partition) }, records),
      onFailure: (err: unknown) => logger.debug({ err }, 'the lag cannot be read now'),
    },
  };
}

export type ControlObserver = ReturnType<typeof observeControl>;
