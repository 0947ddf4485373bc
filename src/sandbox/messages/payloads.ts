import type { JsonObject } from '../core/json.ts';
import type { SeededRandom } from './seeded-random.ts';

export type MessageDetail = {
  readonly random: SeededRandom;
  /** The message's own time. */
  readonly at: Date;
  readonly status: string;
  /** Elements of TxInfAndSts. */
  readonly transactions: number;
};

/** Well-formed (ISO 9362: bank, country, place, branch) and nobody's. */
const BICS = ['SBXADEFFXXX', 'SBXBNL2AXXX', 'SBXCFRPPXXX', 'SBXDESMMXXX', 'SBXEITRRXXX', 'SBXFIE2DXXX'];

/** A payment's pacs.002 as the interface shows it, 6.2: FIToFIPmtStsRpt with every field named there. */
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
 * The interface shows no payload for these two events. What follows is made up for the sandbox and says so in every
 * message: nobody should model a schema on it.
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
