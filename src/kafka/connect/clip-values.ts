import './client-patches.ts';
import { Reader } from '@platformatic/kafka';

/**
 * Values of which only the beginning is read. A Fetch answer holds a whole batch, however large; @platformatic/kafka
 * 2.12.1 copies each value out of it. Who wants keys and headers of records of 95 MB would have 190 MB in memory for each.
 */

/** Key of the Fetch API (kafka.apache.org/protocol). */
const FETCH = 1;

/** While an answer is parsed, which happens in one turn: how much of each value is kept. */
let keptBytes = Number.POSITIVE_INFINITY;

/** Lengths on the wire of values that were clipped. */
const lengths = new WeakMap<Buffer, number>();

/** Bytes of the value in Kafka, of which the buffer may hold the beginning. */
export const lengthOf = (value: Buffer): number => lengths.get(value) ?? value.length;

type Parser = (correlationId: number, apiKey: number, apiVersion: number, reader: Reader) => unknown;
type Send = (
  apiKey: number,
  apiVersion: number,
  payload: unknown,
  parser: Parser,
  ...rest: never[]
) => unknown;

/** Lets a connection keep at most `bytes` of each key, value and header that it fetches. */
export function clipValues(connection: object, bytes: number): void {
  const made = connection as { send: Send };
  const send = made.send.bind(made);
  made.send = (apiKey, apiVersion, payload, parser, ...rest) =>
    send(apiKey, apiVersion, payload, apiKey === FETCH ? clipping(parser, bytes) : parser, ...rest);
}

const clipping =
  (parser: Parser, bytes: number): Parser =>
  (...answer) => {
    keptBytes = bytes;
    try {
      return parser(...answer);
    } finally {
      keptBytes = Number.POSITIVE_INFINITY;
    }
  };

const { readVarIntBytes } = Reader.prototype;
Reader.prototype.readVarIntBytes = function (this: Reader): Buffer | null {
  if (keptBytes === Number.POSITIVE_INFINITY) return readVarIntBytes.call(this);
  const length = this.readVarInt();
  if (length === -1) return null;
  const value = this.buffer.slice(this.position, this.position + Math.min(length, keptBytes));
  this.position += length;
  if (length > keptBytes) lengths.set(value, length);
  return value;
};
