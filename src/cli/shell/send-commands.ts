import { eventTopicsIn } from '../../avro/schema-files.ts';
import { isWritten } from '../../config/command-topics.ts';
import { HooklineError, hasCode, UsageError } from '../../core/errors.ts';
import { OWN_TOPICS, topicName } from '../../core/names.ts';
import type { OutgoingRecord, Position } from '../../core/record.ts';
import { shellWord } from '../../core/shell-word.ts';
import { followTopic } from '../../kafka/consume/topic-follower.ts';
import { type KafkaAccess, UNOBSERVED } from '../../kafka/open-kafka.ts';
import { Publisher } from '../../kafka/produce/publisher.ts';
import { orAborted } from '../../runtime/or-aborted.ts';
import type { CliConfig } from './connections.ts';
import { ownRecordReader, watchReadErrors } from './read-own-topics.ts';
import type { Shell } from './shell.ts';

export type Answer = Readonly<Record<string, unknown>>;

export type AwaitedResults = {
  /** Resolves with the result of a command. Call it before the command is sent, or its result may be missed. */
  of(commandId: string, timeoutMs: number): Promise<Answer>;
  stop(): Promise<void>;
};

/**
 * Follows the topic of results. Open it before commands are sent.
 * @param again whether a command without a result may be sent again, as its user is told
 */
export async function awaitResults(
  shell: Shell,
  config: CliConfig,
  { kafka, again }: { readonly kafka: KafkaAccess; readonly again: string },
): Promise<AwaitedResults> {
  const read = await orAborted(ownRecordReader(config, 'result'), shell.signal);
  const waiting = new Map<string, PromiseWithResolvers<Answer>>();
  const topic = topicName(config.topics.prefix, OWN_TOPICS.results);
  const reading = watchReadErrors(shell, topic);
  const follower = await followTopic({
    openTopic: kafka.openTopic,
    clock: kafka.clock,
    topic,
    opening: shell.signal,
    from: 'now',
    onBrokenOff: reading.onError,
    // An unreadable result rejects its command. Thrown to the follower, the record would be read again without end.
    onRecord: async ({ key, value }) => {
      const one = waiting.get(key?.toString() ?? '');
      if (one && value) await read(value).then(one.resolve, one.reject);
    },
  }).catch((error: unknown) => {
    throw shell.signal.aborted ? new Error('interrupted; nothing was sent') : error;
  });
  const interrupted = () => {
    for (const [commandId, one] of waiting)
      one.reject(new Error(`interrupted; a command that was sent is still executed: ${howToSee(commandId)}`));
  };
  shell.signal.addEventListener('abort', interrupted);
  const timers = new Set<NodeJS.Timeout>();
  return {
    of(commandId, timeoutMs) {
      const one = Promise.withResolvers<Answer>();
      one.promise.catch(() => {});
      waiting.set(commandId, one);
      reading.forbidden.catch(one.reject);
      const seconds = timeoutMs / 1_000;
      const timedOut = () =>
        one.reject(
          new Error(
            `no result within ${seconds} s: it may still come, as a command may take COMMAND_DEADLINE_MS of control (10 min by default); ${again}: ${howToSee(commandId)}, and --timeout waits longer; if none comes, check that control is running and that COMMAND_TOPICS of control has this topic`,
          ),
        );
      timers.add(setTimeout(timedOut, timeoutMs));
      if (shell.signal.aborted) interrupted();
      return one.promise;
    },
    async stop() {
      for (const timer of timers) clearTimeout(timer);
      shell.signal.removeEventListener('abort', interrupted);
      await follower.stop();
    },
  };
}

const howToSee = (commandId: string) =>
  `"hookline tail ${OWN_TOPICS.results} --from-beginning --key ${shellWord(commandId)} --limit 1" shows its result`;

/**
 * Refuses a topic that Hookline writes itself: what reads events, or the state, would find a command there.
 * @param given how the user named it
 * @throws UsageError
 */
export function checkCommandTopic(
  given: string,
  topic: string,
  { topics: { prefix }, schemas: { dir } }: Pick<CliConfig, 'topics' | 'schemas'>,
): void {
  if (!isWritten(topic, prefix, eventTopicsIn(dir))) return;
  throw new UsageError(
    `${given} is ${topic}, which Hookline writes and nobody reads commands from: give a command topic, such as ${topicName(prefix, OWN_TOPICS.commands)}.`,
  );
}

const DEADLINE_MS = 15_000;

const UNKNOWN_TOPIC = ': UNKNOWN_TOPIC_OR_PARTITION';

/**
 * Publishes records and resolves when the brokers have confirmed all of them.
 * @param signal ends the wait: a record that the brokers have already can still be stored
 * @throws HooklineError PUBLISH_DEADLINE with the brokers' last error, PUBLISH_REFUSED
 */
export async function publishOnce(
  kafka: KafkaAccess,
  records: readonly OutgoingRecord[],
  signal = new AbortController().signal,
): Promise<Position[]> {
  const publisher = new Publisher({
    clock: kafka.clock,
    openSession: kafka.openSession,
    backlogBytes: Number.MAX_SAFE_INTEGER,
    observer: UNOBSERVED,
  });
  try {
    const published = Promise.all(records.map((record) => publisher.publish(record, DEADLINE_MS)));
    return await orAborted(published, signal);
  } catch (error) {
    if (signal.aborted)
      throw new Error('interrupted before the brokers confirmed it; it may be stored all the same');
    const [topic, isMissing] = publisher.trouble()?.split(UNKNOWN_TOPIC) ?? [];
    if (hasCode(error, 'PUBLISH_DEADLINE') && isMissing !== undefined)
      throw new HooklineError('TOPICS_MISSING', topic);
    throw publisher.explain(error);
  } finally {
    await publisher.stop();
  }
}
