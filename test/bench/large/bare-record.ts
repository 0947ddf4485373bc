import { ReusedMemory } from '../../../src/ingress/large-body/reused-memory.ts';
import { layInPlace } from '../../../src/kafka/connect/client-patches.ts';
import type { WireRecord } from '../../../src/kafka/produce/encode-batch.ts';
import { openProducerSession } from '../../../src/kafka/produce/producer-session.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import type { Fixture } from '../../support/topics-fixture.ts';
import { type Spread, spreadOf } from '../report.ts';
import { BODY_BYTES } from './bodies.ts';
import { PARTITIONS } from './cases.ts';

/** The longest wait of small records for their acknowledgement, beside a record of 50 MB, in milliseconds. */
export type BareWaits = {
  readonly samePartition: Spread;
  /** Of the same topic. */
  readonly otherPartition: Spread;
};

const ROUNDS = 12;
/** Brokers compile at first. */
const WARM_UP_ROUNDS = 4;
const PATIENCE_MS = 30_000;

/**
 * What the brokers do by themselves: one large record after the other from a bare client, small ones from two others one
 * by one, and nothing else. No connector that writes such a record can spare others of its partition that wait.
 */
export async function measureBareWaits({ env, topic }: Fixture): Promise<BareWaits> {
  const connection = {
    brokers: String(env.KAFKA_BROKERS).split(','),
    tls: undefined,
    sasl: undefined,
    loopbackOnly: false,
  };
  const open = () =>
    openProducerSession(connection, {
      clientId: 'bench',
      rotation: 0,
      clock: systemClock,
      requestTimeoutMs: PATIENCE_MS,
    });
  const sessions = [open(), open(), open()] as const;
  const [large, same, other] = sessions;
  const memory = new ReusedMemory();
  const { headroom: room } = memory;
  const value = memory
    .take(BODY_BYTES + 2 * room)
    .fill('x')
    .subarray(room, room + BODY_BYTES);
  const send = (session: typeof large, partition: number, record: WireRecord) =>
    session.send(
      {
        topic: topic('payment-status'),
        partition,
        records: [record],
        bytes: 0,
        isAlone: true,
        mayBegin: () => true,
      },
      { partitions: PARTITIONS },
    );
  const waits: { same: number; other: number }[] = [];
  try {
    for (let n = 0; n < WARM_UP_ROUNDS + ROUNDS; n++) {
      let sending = true;
      const longest = async (session: typeof large, partition: number) => {
        let ms = 0;
        while (sending) {
          const start = performance.now();
          await send(session, partition, recordOf(Buffer.from('small')));
          ms = Math.max(ms, performance.now() - start);
        }
        return ms;
      };
      layInPlace(value, room);
      const sendLarge = async () => {
        await send(large, 0, recordOf(value)).finally(() => {
          sending = false;
        });
      };
      const [sameMs, otherMs] = await Promise.all([longest(same, 0), longest(other, 1), sendLarge()]);
      if (n >= WARM_UP_ROUNDS) waits.push({ same: sameMs, other: otherMs });
    }
  } finally {
    for (const session of sessions) session.destroy();
  }
  return {
    samePartition: spreadOf(waits.map((one) => one.same)),
    otherPartition: spreadOf(waits.map((one) => one.other)),
  };
}

const recordOf = (value: Buffer): WireRecord => ({
  key: Buffer.from('bench'),
  value,
  headers: new Map(),
  timestamp: BigInt(Date.now()),
});
