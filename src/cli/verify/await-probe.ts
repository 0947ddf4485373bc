import { createWriterReader } from '../../avro/record-reader.ts';
import { OWN_TOPICS, PROBE, topicName } from '../../core/names.ts';
import type { IncomingRecord, Position } from '../../core/record.ts';
import { followTopic, type TopicFollower } from '../../kafka/consume/topic-follower.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import { pause } from '../../runtime/clock.ts';
import { type CliConfig, connectRegistry } from '../shell/connections.ts';
import { describeError } from '../shell/shell.ts';
import type { Probe } from './send-probe.ts';

/** The record of a probe. */
export type SeenProbe = {
  readonly position: Position;
  /** By this process's clock ({@link KafkaAccess.clock}). */
  readonly seenAt: number;
  /** What is wrong with it; null where it is as it should be. */
  readonly fault: string | null;
};

export type ProbeWatch = {
  /** Resolves when the topic is read, or after `ms`: null, or why it is not read. */
  reading(ms: number): Promise<string | null>;
  /** The record, or null where none comes within `ms`. */
  seen(ms: number): Promise<SeenProbe | null>;
  /** Why the topic cannot be read now, or null. */
  trouble(): string | null;
  stop(): Promise<void>;
};

/** More than clocks differ: a record has the time of the ingress that wrote it. */
const SKEW_MS = 10 * 60_000;
const AGAIN_MS = 500;

/** Reads the topic of probes until the record comes, however often the brokers are gone meanwhile. */
export function watchForProbe(config: CliConfig, kafka: KafkaAccess, probe: Probe): ProbeWatch {
  const { clock, openTopic } = kafka;
  const topic = topicName(config.topics.prefix, OWN_TOPICS.probe);
  const stopping = new AbortController();
  const opened = Promise.withResolvers<null>();
  const found = Promise.withResolvers<{ readonly record: IncomingRecord; readonly seenAt: number }>();
  let trouble: string | null = 'not yet read';
  let follower: TopicFollower | undefined;
  const onRecord = (record: IncomingRecord) => {
    trouble = null;
    if (record.key?.toString() === probe.id) found.resolve({ record, seenAt: clock.now() });
  };
  const onBrokenOff = (error: Error) => {
    trouble = describeError(error);
  };
  const from = clock.wall() - SKEW_MS;
  const open = async () => {
    while (!stopping.signal.aborted) {
      try {
        follower = await followTopic({ openTopic, clock, topic, from, onRecord, onBrokenOff });
        trouble = null;
        if (stopping.signal.aborted) await follower.stop();
        return opened.resolve(null);
      } catch (error) {
        trouble = describeError(error);
        await pause(clock, AGAIN_MS, stopping.signal);
      }
    }
  };
  void open();
  const within = <T>(ms: number, promise: Promise<T>): Promise<T | null> =>
    Promise.race([promise, clock.sleep(ms, { signal: stopping.signal, ref: false }).then(() => null)]);
  return {
    trouble: () => trouble,
    reading: async (ms) => {
      await within(ms, opened.promise);
      return trouble;
    },
    async seen(ms) {
      const seen = await within(ms, found.promise);
      if (seen === null) return null;
      const { record, seenAt } = seen;
      const { partition, offset } = record;
      return { position: { topic, partition, offset }, seenAt, fault: await faultOf(record, probe, config) };
    },
    async stop() {
      stopping.abort();
      // One that is being opened ends with its own deadline.
      await follower?.stop();
    },
  };
}

/** Whether the record is what every event record is: identified, in the envelope, with its message to the byte. */
async function faultOf(
  { value, headers }: IncomingRecord,
  probe: Probe,
  config: CliConfig,
): Promise<string | null> {
  if (headers.ce_id !== probe.eventId) return `its header ce_id is ${headers.ce_id}, not ${probe.eventId}`;
  if (value === null) return 'it has no value';
  try {
    const event = await createWriterReader(connectRegistry(config))(value);
    const { type, entityId, subscription, source } = event as Record<string, unknown>;
    const isSame =
      type === PROBE.type && entityId === probe.id && subscription === PROBE.ref && source === probe.body;
    return isSame ? null : 'it does not hold what was sent';
  } catch (error) {
    return `it cannot be decoded: ${describeError(error)}`;
  }
}
