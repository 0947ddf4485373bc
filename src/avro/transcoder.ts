import { JsonScanner, NotJson, QUOTE } from '../core/json-scanner.ts';
import type { ObjectReference } from '../core/record.ts';
import { ArrayElements, type Compiled, ListMemory } from './array-elements.ts';
import { AvroWriter, TooLong, type WriterMemory } from './avro-writer.ts';
import type { EnvelopeValues, SourceRef } from './envelope.ts';
import type { FieldShape, Shape } from './event-shape.ts';
import { type FittedRecord, fitRecord, listBytes, listPlansOf } from './fit-record.ts';
import { HEADER_LENGTH, writeHeader } from './record-codec.ts';
import { Place, SpanFinder } from './span-finder.ts';
import { type DriftSink, type Plan, ValueWriter } from './value-writer.ts';

/** A message that was walked over: it is JSON. Good until the transcoder's next one. */
export type FoundMessage = {
  /** What the message names as its type, where it is a string. */
  readonly rawType: string | undefined;
  /** As the record has it. */
  readonly type: string | null;
  /** As the record has it. */
  readonly entityId: string | null;
  /** What its lists take in the record; Infinity where one of them was too long to be kept. */
  readonly listBytes: number;
  /**
   * The record in the wire format; `source` is the message itself. A field that carries a pointer has the value that stands
   * there: null where there is none, null and drift where it doesn't fit.
   * @throws TooLong
   */
  write(envelope: EnvelopeValues, schemaId: number, drift: DriftSink, room?: RecordMemory): Buffer;
  /**
   * The record without the message. What does not fit into `maxBytes` is left out, the largest value first: it is null, it
   * is listed in `sourceRef.omitted`, and it is no drift.
   */
  writeWithout(
    envelope: EnvelopeValues,
    schemaId: number,
    drift: DriftSink,
    where: MessagePlace,
  ): FittedRecord;
  /** Releases what writing needs. The message can be written no more. */
  drop(): void;
};

/** For a record that holds its message. */
export type RecordMemory = {
  /** It is not written where it would have more. */
  readonly maxBytes?: number | undefined;
  /** Its memory is taken from there. */
  readonly memory?: WriterMemory | undefined;
};

/** What is kept of a message's lists: a longer one is only walked over, and so is one that the others leave too little for. */
export type ListRoom = Pick<ListMemory, 'maxEach' | 'maxAll'>;

const UNLIMITED: ListRoom = { maxEach: Number.POSITIVE_INFINITY, maxAll: Number.POSITIVE_INFINITY };

/** Where a message is whose record does not hold it. */
export type MessagePlace = {
  /** Of the object that holds it; undefined: it is kept nowhere. */
  readonly reference: ObjectReference | undefined;
  /** Of the record. */
  readonly maxBytes: number;
};

/**
 * From a message's bytes to its record's, without an object or a string in between. It costs small messages a fifth less
 * than objects do, and large ones half: 50 MB of JSON would be a million objects, to be collected afterwards.
 */
export class Transcoder {
  readonly #scanner = new JsonScanner(Buffer.alloc(0));
  readonly #finder: SpanFinder;
  readonly #own: readonly [type: Plan, entityId: Plan];
  readonly #plans: readonly Plan[];
  readonly #listPlans: ReturnType<typeof listPlansOf>;
  readonly #lists: ListMemory;

  /** @param fields of a schema whose envelope was checked: the first two are type and entityId */
  constructor(fields: readonly FieldShape[]) {
    const { finder, plans, memory } = planMessage(fields);
    const [type, entityId, ...others] = plans as [Plan, Plan, ...Plan[]];
    this.#finder = finder;
    this.#own = [type, entityId];
    this.#plans = others;
    this.#listPlans = listPlansOf(others);
    this.#lists = memory;
  }

  /**
   * @param message valid UTF-8
   * @throws NotJson
   */
  find(message: Buffer, { maxEach, maxAll } = UNLIMITED): FoundMessage {
    this.#lists.maxEach = maxEach;
    this.#lists.maxAll = maxAll;
    this.#walkOver(message);
    const [type, entityId] = this.#own;
    const rawType = this.#stringAt(message, type);
    let inLists = 0;
    for (const plan of this.#listPlans) inLists += listBytes(plan, this.#finder, message);
    return {
      rawType,
      type: wellFormed(rawType),
      entityId: wellFormed(this.#stringAt(message, entityId)),
      listBytes: inLists,
      drop: () => this.#finder.drop(),
      write: (envelope, schemaId, drift, { maxBytes = Number.POSITIVE_INFINITY, memory } = {}) => {
        const known = message.length + inLists;
        if (known > maxBytes || known === Number.POSITIVE_INFINITY) throw new TooLong();
        const likely = HEADER_LENGTH + Math.max(2 * message.length, known) + 256;
        const out = new AvroWriter(Math.min(likely, maxBytes), memory);
        out.maxBytes = maxBytes;
        try {
          const writing = new ValueWriter(message, out, drift);
          this.#begin(envelope, out, writing);
          out.byte(2);
          out.span(message, 0, message.length);
          out.byte(0);
          return this.#end(out, writing, schemaId);
        } catch (error) {
          out.discard();
          throw error;
        }
      },
      writeWithout: (envelope, schemaId, drift, { reference, maxBytes }) =>
        fitRecord(this.#plans, this.#finder, message, {
          maxBytes,
          drift,
          write: (omitted, noteDrift) => {
            const out = new AvroWriter(HEADER_LENGTH + Math.min(maxBytes, 2 * message.length) + 256);
            const writing = new ValueWriter(message, out, noteDrift, omitted);
            this.#begin(envelope, out, writing);
            out.byte(0);
            if (reference)
              writeReference(out, { ...reference, omitted: [...omitted].map(({ path }) => path) });
            else out.byte(0);
            return this.#end(out, writing, schemaId);
          },
        }),
    };
  }

  /** The envelope up to the message. */
  #begin({ eventId, subscription, receivedAt }: EnvelopeValues, out: AvroWriter, writing: ValueWriter): void {
    const [type, entityId] = this.#own;
    out.length += HEADER_LENGTH;
    out.string(eventId);
    writing.nullable(type, this.#finder);
    writing.nullable(entityId, this.#finder);
    out.string(subscription);
    out.long(receivedAt);
  }

  /** The values, behind the envelope. */
  #end(out: AvroWriter, writing: ValueWriter, schemaId: number): Buffer {
    for (const plan of this.#plans) writing.nullable(plan, this.#finder);
    const record = out.end();
    writeHeader(record, schemaId);
    return record;
  }

  #walkOver(message: Buffer): void {
    const scanner = this.#scanner;
    try {
      scanner.bytes = message;
      const end = scanner.skipSpace(this.#finder.find(scanner, scanner.skipSpace(0)));
      if (end !== message.length) throw new NotJson();
    } catch (error) {
      this.#finder.drop();
      throw error;
    }
  }

  #stringAt(message: Buffer, { slot }: Plan): string | undefined {
    const start = this.#finder.starts[slot] as number;
    if (start < 0 || message[start] !== QUOTE) return undefined;
    const text = message.toString('utf8', start + 1, (this.#finder.ends[slot] as number) - 1);
    return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
  }
}

/** A `sourceRef`. */
function writeReference(out: AvroWriter, { uri, bytes, sha256, omitted }: SourceRef): void {
  out.byte(2);
  out.string(uri);
  out.long(bytes);
  out.string(sha256);
  if (omitted.length > 0) out.long(omitted.length);
  for (const path of omitted) out.string(path);
  out.byte(0);
}

/** As a field takes a string. */
const wellFormed = (text: string | undefined): string | null => (text?.isWellFormed() ? text : null);

/** The plans of a message's fields, and the finder of their values. */
const planMessage = (fields: readonly FieldShape[]): Compiled<Plan[]> =>
  compile((places) => planFields(fields, places));

/** Hands out places with slots, and makes the finder of them. */
type Places = {
  readonly root: Place;
  readonly arrays: ArrayElements[];
  readonly memory: ListMemory;
  slotAt(place: Place): number;
};

function compile<T>(plan: (places: Places) => T): Compiled<T> {
  const root = new Place();
  const arrays: ArrayElements[] = [];
  let slots = 0;
  const slotAt = (place: Place) => {
    place.slots.push(slots);
    return slots++;
  };
  const memory = new ListMemory();
  const plans = plan({ root, arrays, memory, slotAt });
  return { finder: new SpanFinder(root, slots, arrays), plans, memory };
}

function planFields(fields: readonly FieldShape[], places: Places, from = places.root): Plan[] {
  return fields.map(({ pointer, path, shape }) => planShape(shape, path, places, from.at(pointer)));
}

function planShape(shape: Shape, path: string, places: Places, place: Place): Plan {
  const base = { slot: places.slotAt(place), path };
  if (shape.kind === 'value') return { ...base, ...shape };
  if (shape.kind === 'record') {
    return { ...base, kind: 'record', fields: planFields(shape.fields, places, place) };
  }
  const items = compile((own) => planShape(shape.items, shape.path, own, own.root));
  const elements = new ArrayElements(items, places.memory);
  place.arrays.push(elements);
  places.arrays.push(elements);
  return { ...base, kind: 'array', elements };
}
