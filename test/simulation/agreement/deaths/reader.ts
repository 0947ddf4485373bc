import { fetch, listOffsets } from '../wire/platformatic-requests.ts';
import { type Client, pause, type Steps } from './client.ts';
import { PARTITIONS } from './plan.ts';
import { note, type Scene, type Stored } from './run.ts';

const WAIT_MS = 100;
const AGAIN_MS = 50;
const END = -1n;

type Fetched = {
  readonly responses: readonly {
    readonly partitions: readonly {
      readonly errorCode: number;
      readonly records: readonly FetchedBatch[] | null;
    }[];
  }[];
};
type FetchedBatch = {
  readonly firstOffset: bigint;
  readonly partitionLeaderEpoch: number;
  readonly records: readonly { readonly offsetDelta: number; readonly key: Buffer; readonly value: Buffer }[];
};
type Listed = {
  readonly topics: readonly {
    readonly partitions: readonly { readonly errorCode: number; readonly offset: bigint }[];
  }[];
};

/** Reads all partitions from their beginning on, while there are faults. */
export async function* reader(scene: Scene, client: Client): Steps {
  const offsets = Array.from({ length: PARTITIONS }, () => 0);
  while (!scene.isOver)
    for (const [partition, offset] of offsets.entries()) {
      const records = yield* readFrom(scene, client, { partition, offset });
      scene.run.read.push(...records.map((record) => ({ ...record, partition })));
      offsets[partition] = (records.at(-1)?.offset ?? offset - 1) + 1;
    }
}

/** All that a partition holds, read when nothing happens any more. */
export async function* readAll(scene: Scene, client: Client, partition: number): Steps<Stored[]> {
  const all: Stored[] = [];
  const end = yield* endOf(scene, client, partition);
  while ((all.at(-1)?.offset ?? -1) + 1 < end)
    all.push(...(yield* readFrom(scene, client, { partition, offset: (all.at(-1)?.offset ?? -1) + 1 })));
  return all;
}

type From = { readonly partition: number; readonly offset: number };

async function* readFrom(scene: Scene, client: Client, { partition, offset }: From): Steps<Stored[]> {
  const leader = yield* client.leaderOf(partition);
  const outcome = yield* client.ask(leader, fetch(client.topicId, { partition, offset, maxWaitMs: WAIT_MS }));
  if (typeof outcome === 'string') {
    note(scene, `fetch ${outcome}`);
    yield* pause(scene, AGAIN_MS);
    return [];
  }
  const [answered] = (outcome.answer as Fetched).responses[0]?.partitions ?? [];
  note(scene, `fetch ${answered?.errorCode}`);
  const batches = answered?.records ?? [];
  const records = batches.flatMap(({ firstOffset, partitionLeaderEpoch: epoch, records }) =>
    records.map(({ offsetDelta, key, value }) => ({
      // Its name; or what is there instead, which no attempt has.
      id: `${value}` === `value of ${key}` ? `${key}` : `${value}`,
      offset: Number(firstOffset) + offsetDelta,
      epoch,
    })),
  );
  return records.filter((record) => record.offset >= offset);
}

async function* endOf(scene: Scene, client: Client, partition: number): Steps<number> {
  for (;;) {
    const leader = yield* client.leaderOf(partition);
    const outcome = yield* client.ask(leader, listOffsets(scene.topic, partition, END));
    const listed =
      typeof outcome === 'string' ? undefined : (outcome.answer as Listed).topics[0]?.partitions[0];
    if (listed?.errorCode === 0) return Number(listed.offset);
    yield* pause(scene, AGAIN_MS);
  }
}
