import { COMMAND_TYPES, type CommandResult } from '../core/command.ts';
import type { IncomingRecord } from '../core/record.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { SUBSCRIPTION_STATES, type SubscriptionRecord } from '../subscriptions/subscription-record.ts';
import { DRIFT_KINDS, type Drift } from './operations/find-drift.ts';

/** After it the consumer is taken for dead: its sessions and fetches are much shorter. */
const MOST_SILENCE_MS = 120_000;

/** What happens in control, as metrics and log lines: one wide line per command. */
export function observeControl({ logger, metrics }: { logger: Logger; metrics: Metrics }) {
  // From the start, so that the first one is an increase: an alert sees no other.
  for (const type of [...COMMAND_TYPES, 'unknown']) metrics.commands.inc({ type, status: 'FAILED' }, 0);
  for (const outcome of ['refused', 'unauthorised', 'gone'])
    metrics.providerRequests.inc({ operation: 'POST oauth/token', outcome }, 0);
  metrics.deadLetters.inc({ stage: 'COMMAND' }, 0);
  return {
    finished(result: CommandResult) {
      // A type as received may be anything: each would become a series of its own.
      const type = COMMAND_TYPES.find((one) => one === result.type) ?? 'unknown';
      metrics.commands.inc({ type, status: result.status });
      metrics.commandSeconds.observe({ type }, (result.finishedAt - result.receivedAt) / 1_000);
      const { subscriptions, drift, ...line } = result;
      logger.info(
        {
          ...line,
          listed: subscriptions?.length,
          drifted: drift?.length,
          ms: result.finishedAt - result.receivedAt,
        },
        'command finished',
      );
    },
    drift({ ref, subscriptionId, errorCode, message }: CommandResult) {
      const about = { ref, subscriptionId, errorCode, detail: message };
      if (errorCode === null) logger.info(about, 'drift has ended');
      else logger.warn(about, 'drift found');
    },
    compared(drifts: readonly Drift[]) {
      metrics.reconciled.setToCurrentTime();
      for (const kind of DRIFT_KINDS)
        metrics.drift.set({ kind }, drifts.filter((drift) => drift.kind === kind).length);
    },
    notComparing() {
      metrics.reconciled.reset();
      metrics.drift.reset();
      metrics.repairsWithheld.set(0);
    },
    notCompared: (err: unknown) =>
      logger.warn({ err }, 'the payment service could not be compared with the state'),
    withheld(count: number) {
      if (count > 0)
        logger.warn({ count }, 'nothing is repaired: it would be more than RECONCILE_REPAIR_MAX');
      metrics.repairsWithheld.set(count);
    },
    notRepaired: (err: unknown, ref: string) =>
      logger.warn({ err, ref }, 'the command that would repair the subscription could not be sent'),
    parked: () => metrics.deadLetters.inc({ stage: 'COMMAND' }),
    failed(err: unknown, { topic, partition, offset }: IncomingRecord) {
      logger.error(
        { err, topic, partition, offset: String(offset) },
        'command could not be brought to an end, it comes again',
      );
    },
    working(isWorking: boolean) {
      metrics.controlWorking.set(isWorking ? 1 : 0);
      logger.info(isWorking ? 'this process executes commands' : 'this process stands by');
    },
    claimed: (epoch: number) => logger.info({ epoch }, 'the state is claimed'),
    fenced: (ref: string) =>
      logger.warn(
        { ref },
        'a late record of an earlier control process does not count: the state is written again',
      ),
    notClaimed: (err: unknown) =>
      logger.warn({ err }, 'the state can not be claimed now: it is tried again with the next command'),
    refused(err: Error | null) {
      if (err)
        logger.warn({ err }, 'commands are not read: the brokers refuse the credentials, trying again');
      else logger.info('commands are read again');
    },
    unnamed: (err: unknown, commandId: string) =>
      logger.error({ err, commandId }, 'command ended by an error that has no name'),
    unreadable: (err: unknown, at: string) =>
      logger.error({ err, at }, 'record can not be read, passed over'),
    awaited: (err: unknown, at: string) => logger.warn({ err, at }, 'record waits for the schema registry'),
    brokenOff: (err: unknown, topic: string) =>
      logger.warn({ err, topic }, 'the topic can not be read, tried again'),
    delayed: (topic: string, err: unknown) => logger.warn({ topic, err }, 'not stored yet, trying again'),
    narrowerScope(missing: readonly string[]) {
      metrics.narrowerScope.inc();
      logger.warn({ missing }, 'the access token has fewer scopes than were asked for');
    },
    request(operation: string, outcome: string, seconds: number) {
      metrics.providerRequests.inc({ operation, outcome });
      metrics.providerSeconds.observe({ operation }, seconds);
    },
    subscriptions(records: readonly SubscriptionRecord[]) {
      for (const state of SUBSCRIPTION_STATES)
        metrics.subscriptions.set({ state }, records.filter((record) => record.state === state).length);
    },
    /** Once for each change: the commands that wait say nothing of their own. */
    away(why: string | null) {
      metrics.breakerOpen.set(why === null ? 0 : 1);
      if (why === null) logger.info('the payment service answers again: commands go on');
      else logger.warn({ why }, 'the payment service is away: commands wait, none has failed');
    },
    tokenObtained: () => metrics.tokenObtained.setToCurrentTime(),
    lag: (topic: string, partition: number, records: number) =>
      metrics.commandLag.set({ topic, partition: String(partition) }, records),
    lagUnknown: (err: unknown) => logger.debug({ err }, 'the lag can not be read now'),
    silence: (ms: number) =>
      ms < MOST_SILENCE_MS ? null : `nothing heard of the consumer group for ${Math.round(ms / 1_000)} s`,
  };
}
