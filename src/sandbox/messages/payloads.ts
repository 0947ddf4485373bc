import { createHash } from 'node:crypto';
import type { JsonObject } from '../core/json.ts';

export type MessageDetail = {
  readonly random: SeededRandom;
  /** Time of the message. */
  readonly at: Date;
  readonly status: string;
  /** Elements of TxInfAndSts. */
  readonly transactions: number;
};

/** Well-formed BICs (ISO 9362: bank, country, location, branch) that belong to nobody. */
const BICS = ['SBXADEFFXXX', 'SBXBNL2AXXX', 'SBXCFRPPXXX', 'SBXDESMMXXX', 'SBXEITRRXXX', 'SBXFIE2DXXX'];

/** The pacs.002 of a payment (interface, section 6.2): FIToFIPmtStsRpt with every field of the interface. */
export function paymentStatusPayload(detail: MessageDetail): JsonObject {
  const { random, at, status } = detail;
  const day = at.toISOString().slice(0, 10).replaceAll('-', '');
  const reference = (prefix: string) => `${prefix}${day}${random.digits(12)}${random.letters(4)}`;
  const originalGroup = { OrgnlMsgId: reference('OM'), OrgnlMsgNmId: 'pacs.008.001.08' };
  return {
    status,
    pacs002: {
      FIToFIPmtStsRpt: {
        GrpHdr: { MsgId: reference('SR'), CreDtTm: at.toISOString() },
        TxInfAndSts: Array.from({ length: detail.transactions }, () => {
          const instructing = random.pick(BICS);
          return {
            OrgnlGrpInf: { ...originalGroup },
            OrgnlInstrId: reference('IN'),
            OrgnlUETR: random.uuid(),
            TxSts: status,
            InstgAgt: { FinInstnId: { BICFI: instructing } },
            InstdAgt: { FinInstnId: { BICFI: random.pick(BICS.filter((bic) => bic !== instructing)) } },
          };
        }),
      },
    },
  };
}

/**
 * The interface does not show the payload of the other two events. These are invented for the sandbox, and each message
 * says so: do not derive a schema from them.
 */
const MARK = 'made up by the sandbox: the interface does not show this payload';

/** "An account gets an entry of type CR or DR." */
export function accountsEntriesPayload({ random, at }: MessageDetail): JsonObject {
  return {
    sandboxOnly: MARK,
    accountId: random.uuid(),
    entry: {
      entryId: random.uuid(),
      type: random.pick(['CR', 'DR']),
      amount: `${random.below(100_000)}.${random.digits(2)}`,
      currency: 'EUR',
      bookedAt: at.toISOString(),
    },
  };
}

/** "A collection from universities changes its status." */
export function collectionStatusPayload({ random, at, status }: MessageDetail): JsonObject {
  return {
    sandboxOnly: MARK,
    collectionId: random.uuid(),
    status,
    reference: `UNI-${random.digits(8)}`,
    changedAt: at.toISOString(),
  };
}

type SeededRandom = ReturnType<typeof createRandom>;

/**
 * Random values determined by a seed and the name of a stream, so that a trigger can be repeated and its n-th message
 * does not depend on the ones before. mulberry32 is enough for invented data; it is not for secrets.
 */
export function createRandom(seed: number, stream: string) {
  let state = createHash('sha256').update(`${seed}/${stream}`).digest().readUInt32LE(0);
  /** A whole number from 0 to `end` - 1. */
  const below = (end: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  };
  const letters = (alphabet: string, length: number) => {
    let text = '';
    while (text.length < length) text += alphabet[below(alphabet.length)];
    return text;
  };
  return {
    below,
    pick: <T>(values: readonly T[]): T => values[below(values.length)] as T,
    digits: (length: number) => letters('0123456789', length),
    letters: (length: number) => letters('ABCDEFGHIJKLMNOPQRSTUVWXYZ', length),
    /** A version 4 UUID by its form. */
    uuid(): string {
      const hex = letters('0123456789abcdef', 31);
      const variant = '89ab'[below(4)];
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(12, 15)}-${variant}${hex.slice(15, 18)}-${hex.slice(18, 30)}`;
    },
  };
}
