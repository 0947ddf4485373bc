import type { Type } from 'avsc';
import { HooklineError, hasCode } from '../core/errors.ts';
import { type IncomingRecord, recordName } from '../core/record.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { retry, STARTUP_BACKOFF } from '../runtime/retry.ts';
import { boundedDecoder, Undecodable } from './bounded-decode.ts';
import { type AvroRecord, HEADER_LENGTH, type RecordCodec, schemaIdOf } from './record-codec.ts';
import type { Registry } from './registry.ts';

/**
 * Reads record values in the wire format, whatever wrote them. Throws RECORD_UNREADABLE where the bytes are no such
 * record; where the writer's schema cannot be asked for now, an error for which {@link isRegistryUnavailable} holds.
 */
export type RecordReader = (value: Buffer) => Promise<AvroRecord>;

/** Nothing is known of the record yet: the registry doesn't answer, or doesn't take the credentials. */
export const isRegistryUnavailable = (error: unknown): boolean =>
  hasCode(error, 'REGISTRY_UNAVAILABLE', 'REGISTRY_REFUSED');

/** How long an unknown id is not asked for again: the client would ask each time. */
const FORGET_FAILURE_MS = 30_000;

/**
 * Characters of the writers' schemas that are kept compiled, which takes about ten bytes for each: more than a cluster's
 * teams have, fewer than fill the memory. The largest schema that is read fits.
 */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/** Ids that are known to be unknown: who sends more of them is answered by the registry again. */
const MAX_FAILURES = 1_000;

/**
 * Reads into `codec`'s own fields. What was written with its very schema needs no registry; for any other writer's
 * schema a resolver is made once (per call it would cost fifty times the reading).
 */
export function createRecordReader(
  codec: RecordCodec,
  ownId: number,
  registry: Registry,
  clock: Clock = systemClock,
): RecordReader {
  return createReader(depsOf(codec, ownId, registry, clock), (writer) => codec.resolve(writer));
}

const depsOf = (codec: RecordCodec, ownId: number, registry: Registry, clock: Clock): ReaderDeps => ({
  registry,
  clock,
  own: new Map([[ownId, codec.decode]]),
});

/**
 * The same for a topic that Hookline alone writes. A record whose id the registry does not know, or has for another record, is read
 * by the own schema, to its last byte: a registry that was restored, or filled anew, has given other ids.
 */
export function createOwnReader(
  codec: RecordCodec,
  ownId: number,
  registry: Registry,
  clock: Clock = systemClock,
): RecordReader {
  const deps = { ...depsOf(codec, ownId, registry, clock), otherwise: codec.decode };
  return createReader(deps, (writer) => codec.resolve(writer));
}

/** Reads each record into the fields that its writer gave it. */
export function createWriterReader(registry: Registry): RecordReader {
  return createReader({ registry, own: new Map(), clock: systemClock }, (writer) => boundedDecoder(writer));
}

type Decode = (binary: Buffer) => AvroRecord;

type ReaderDeps = {
  readonly registry: Registry;
  readonly own: ReadonlyMap<number, Decode>;
  readonly clock: Clock;
  /** Reads what has an id that leads to no schema that can be read. */
  readonly otherwise?: Decode;
};

function createReader(
  { registry, own, clock, otherwise }: ReaderDeps,
  make: (writer: Type) => Decode,
): RecordReader {
  const kept = new Map<number, { decode: Decode; characters: number }>();
  let characters = 0;
  const keep = (id: number, one: { decode: Decode; characters: number }) => {
    // Two records of one id may have asked for it at the same time.
    characters += one.characters - (kept.get(id)?.characters ?? 0);
    kept.set(id, one);
    for (const [oldest, { characters: freed }] of kept) {
      if (characters <= MAX_CHARACTERS) return;
      kept.delete(oldest);
      characters -= freed;
    }
  };
  const failures = new Map<number, { error: unknown; at: number }>();
  const decoderOf = async (id: number): Promise<Decode> => {
    const known = own.get(id) ?? kept.get(id)?.decode;
    if (known) return known;
    const failure = failures.get(id);
    if (failure && clock.now() - failure.at < FORGET_FAILURE_MS) {
      if (otherwise) return otherwise;
      throw failure.error;
    }
    try {
      const writer = await registry.writerType(id);
      const decode = make(writer);
      keep(id, { decode, characters: JSON.stringify(writer).length });
      return decode;
    } catch (error) {
      if (isRegistryUnavailable(error)) throw error;
      const unreadable = new HooklineError('RECORD_UNREADABLE', `schema ${id}: ${(error as Error).message}`);
      if (failures.size >= MAX_FAILURES) failures.clear();
      failures.set(id, { error: unreadable, at: clock.now() });
      if (otherwise) return otherwise;
      throw unreadable;
    }
  };
  return async (value) => {
    const id = schemaIdOf(value);
    if (id === null) throw new HooklineError('RECORD_UNREADABLE', 'no wire format');
    const decode = await decoderOf(id);
    try {
      return decode(value.subarray(HEADER_LENGTH));
    } catch (error) {
      throw new HooklineError('RECORD_UNREADABLE', `schema ${id}: ${(error as Error).message}`, {
        cause: error,
      });
    }
  };
}

/** The fields before the fault of a record that could not be read; none where it is not known of which type it is. */
export function leadingFieldsOf(error: unknown): Readonly<Record<string, unknown>> {
  const { cause } = error as { cause?: unknown };
  return cause instanceof Undecodable ? cause.leading : {};
}

export type RecordTakerDeps = {
  readonly read: RecordReader;
  /** Aborted when nobody waits for the records any more. */
  readonly signal: AbortSignal;
  /** Called with each record by its key, and with null for a deletion. */
  readonly onRecord: (key: string, record: AvroRecord | null) => void;
  /** The record at `at`, with this key, cannot be read by anyone: it is skipped. */
  readonly onUnreadable: (error: unknown, at: string, key: string) => void;
  /** The record at `at` waits for the schema registry; called once. */
  readonly onAwaited: (error: unknown, at: string) => void;
  readonly clock?: Clock;
};

/**
 * Takes the records of one of Hookline's own topics, one after the other. A record that only an absent registry keeps
 * from being read is waited for, and those behind it with it: skipped, it would be missing from the state for as
 * long as the process runs.
 */
export function takeRecords(deps: RecordTakerDeps): (incoming: IncomingRecord) => Promise<void> {
  const { read, signal, onAwaited, clock = systemClock } = deps;
  return async (incoming) => {
    const { key, value } = incoming;
    const at = recordName(incoming);
    const name = key?.toString() ?? '';
    try {
      const record =
        value &&
        (await retry(() => read(value), {
          backoff: STARTUP_BACKOFF,
          signal,
          clock,
          again: isRegistryUnavailable,
          onFailure: (error, attempt) => {
            if (attempt === 1 && isRegistryUnavailable(error)) onAwaited(error, at);
          },
        }));
      deps.onRecord(name, record);
    } catch (error) {
      if (signal.aborted) throw error;
      deps.onUnreadable(error, at, name);
    }
  };
}
