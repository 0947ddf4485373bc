import type { AvroRecord } from '../avro/record-codec.ts';
import { isRegistryAway, type RecordReader } from '../avro/record-reader.ts';
import type { IncomingRecord } from '../core/record.ts';
import { retry, STARTUP_BACKOFF } from '../runtime/retry.ts';

export type RecordTakerParts = {
  readonly read: RecordReader;
  /** Aborted when nobody waits for the records any more. */
  readonly signal: AbortSignal;
  /** Told of each record by its key, and with null of a deletion. */
  readonly onRecord: (key: string, record: AvroRecord | null) => void;
  /** The record at `at` can't be read, whoever asks: it is passed over. */
  readonly onUnreadable: (error: unknown, at: string) => void;
  /** The record at `at` waits for the schema registry; told once. */
  readonly onAwaited: (error: unknown, at: string) => void;
};

/**
 * Takes the records of one of Hookline's own topics, one after the other. A record that only an absent registry keeps
 * from being read is waited for, and those behind it with it: passed over, it would be missing from the state for as
 * long as the process runs.
 */
export function takeRecords(parts: RecordTakerParts): (incoming: IncomingRecord) => Promise<void> {
  const { read, signal, onAwaited } = parts;
  return async ({ topic, partition, offset, key, value }) => {
    const at = `${topic}[${partition}]@${offset}`;
    try {
      const record =
        value &&
        (await retry(() => read(value), {
          backoff: STARTUP_BACKOFF,
          signal,
          again: isRegistryAway,
          onFailure: (error, attempt) => {
            if (attempt === 1 && isRegistryAway(error)) onAwaited(error, at);
          },
        }));
      parts.onRecord(key?.toString() ?? '', record);
    } catch (error) {
      if (signal.aborted) throw error;
      parts.onUnreadable(error, at);
    }
  };
}
