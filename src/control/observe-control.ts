import type { CommandResult } from '../core/command.ts';
import type { IncomingRecord } from '../kafka/incoming-record.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';

/** After it the consumer is taken for dead: its sessions and fetches are much shorter. */
const MOST_SILENCE_MS = 120_000;

/** What happens in control, as metrics and log lines: one wide line per command. */
export function observeControl({ logger, metrics }: { logger: Logger; metrics: Metrics }) {
  return {
    finished(result: CommandResult) {
      metrics.commands.inc({ type: result.type, status: result.status });
      const { subscriptions, ...line } = result;
      logger.info(
        { ...line, listed: subscriptions?.length, ms: result.finishedAt - result.receivedAt },
        'command finished',
      );
    },
    failed(err: unknown, { topic, partition, offset }: IncomingRecord) {
      logger.error(
        { err, topic, partition, offset: String(offset) },
        'command could not be brought to an end, it comes again',
      );
    },
    refused: (err: unknown) => logger.warn({ err }, 'the brokers refuse the credentials, trying again'),
    unnamed: (err: unknown, commandId: string) =>
      logger.error({ err, commandId }, 'command ended by an error that has no name'),
    unreadable: (err: unknown, at: string) =>
      logger.error({ err, at }, 'record can not be read, passed over'),
    awaited: (err: unknown, at: string) => logger.warn({ err, at }, 'record waits for the schema registry'),
    delayed: (topic: string, err: unknown) => logger.warn({ topic, err }, 'not stored yet, trying again'),
    narrowerScope(missing: readonly string[]) {
      metrics.narrowerScope.inc();
      logger.warn({ missing }, 'the access token has fewer scopes than were asked for');
    },
    request: (operation: string, outcome: string) => metrics.providerRequests.inc({ operation, outcome }),
    silence: (ms: number) =>
      ms < MOST_SILENCE_MS ? null : `nothing heard of the consumer group for ${Math.round(ms / 1_000)} s`,
  };
}
