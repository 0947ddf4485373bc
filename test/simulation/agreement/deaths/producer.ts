import type { Batch } from '../../../../src/kafka/produce/encode-batch.ts';
import { produce } from '../wire/platformatic-requests.ts';
import { type Client, pause, type Steps } from './client.ts';
import type { Scene } from './run.ts';

const TIMEOUT_MS = 1_000;
const AGAIN_MS = 50;
const TIME = 1_770_000_000_000n;

type Produced = {
  readonly responses: readonly {
    readonly partitionResponses: readonly { readonly errorCode: number; readonly baseOffset: bigint }[];
  }[];
};

/**
 * Sends batches to one partition, one after the other, each again until it is acknowledged: as ingress does, without a producer
 * id. What differs from ingress: each attempt has a name of its own.
 */
export async function* producer(scene: Scene, client: Client, partition: number): Steps {
  let leader = yield* client.leaderOf(partition);
  for (let batch = 0; !scene.isOver; batch++) {
    for (let attempt = 1; ; attempt++) {
      const id = `${partition}/${batch}/${attempt}`;
      const outcome = yield* client.ask(leader, produce([batchOf(scene.topic, partition, id)], TIMEOUT_MS));
      const answer = typeof outcome === 'string' ? undefined : (outcome.answer as Produced);
      const answered = answer?.responses[0]?.partitionResponses[0];
      const isAcknowledged = answered?.errorCode === 0;
      const base = isAcknowledged ? Number(answered.baseOffset) : undefined;
      const said = typeof outcome === 'string' ? outcome : `${answered?.errorCode}`;
      scene.run.attempts.push({ id, partition, batch, outcome: said, base, situation: scene.situation });
      if (isAcknowledged) break;
      yield* pause(scene, AGAIN_MS);
      leader = yield* client.leaderOf(partition);
    }
    scene.acknowledged++;
    yield* pause(scene, scene.paceMs);
  }
}

function batchOf(topic: string, partition: number, id: string): Batch {
  const record = {
    key: Buffer.from(id),
    value: Buffer.from(`value of ${id}`),
    headers: new Map(),
    timestamp: TIME,
  };
  return { topic, partition, records: [record], bytes: 0, isAlone: true, mayBegin: () => true };
}
