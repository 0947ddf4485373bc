import type { AvroWriter } from './avro-writer.ts';
import type { Convert, ValueType } from './event-shape.ts';

/** Told of each value that is there and doesn't fit, by the dotted path of its field. */
export type DriftSink = (field: string) => void;

/** How a shape is written from where its value stands. */
export type Plan = { readonly slot: number; readonly path: string } & (
  | { readonly kind: 'value'; readonly type: ValueType; readonly convert: Convert }
  | { readonly kind: 'record'; readonly fields: readonly Plan[] }
  | { readonly kind: 'array'; readonly elements: WrittenElements }
);

/** What the elements of the array that was walked over last have become. */
export type WrittenElements = { writeTo(out: AvroWriter, drift: DriftSink): void };
