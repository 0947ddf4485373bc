import type { Simulation } from '../engine/simulation.ts';
import {
  FETCHES_BY_ID,
  type FetchAnswer,
  type FetchRequest,
  fetchAnswer,
  type ListOffsetsRequest,
  listOffsetsAnswer,
  topicIdOf,
} from './fetch-messages.ts';
import { CODES, type Entry, type Partition } from './partition.ts';
import type { Head } from './protocol.ts';
import type { Serving } from './serve-produce.ts';

export type FetchPorts = {
  readonly simulation: Simulation;
  readonly topics: ReadonlyMap<string, readonly Partition[]>;
};

const OFFSET_OUT_OF_RANGE = 1;
const UNKNOWN_TOPIC_ID = 100;
const NEWEST = -1;
const NOTHING = Buffer.alloc(0);

/** Answers when there is a record, or the consumer's time is over. */
export function serveFetch(
  ports: FetchPorts,
  broker: Serving,
  request: Head & FetchRequest,
  answer: (bytes: Buffer) => void,
): void {
  const isById = request.version >= FETCHES_BY_ID;
  const read = () => request.partitions.map((from) => fetched(ports, broker, from, isById));
  const send = (answers: readonly FetchAnswer[]) => answer(fetchAnswer(request, answers));
  const first = read();
  if (request.maxWaitMs <= 0 || first.some(isNews)) return send(first);
  let isOver = false;
  const finish = () => {
    if (isOver) return;
    isOver = true;
    timer.cancel();
    for (const off of listening) off();
    send(read());
  };
  const timer = ports.simulation.after(request.maxWaitMs, broker.process, finish, { settles: false });
  const later = () => void ports.simulation.after(0.1, broker.process, finish, { settles: false });
  const listening = request.partitions.flatMap(({ topic, partition }) => {
    const found = find(ports, topic)?.[partition];
    return found ? [found.onAdvance(later)] : [];
  });
}

const isNews = ({ code, records }: FetchAnswer) => code !== CODES.NONE || records.length > 0;

function find({ topics }: FetchPorts, nameOrId: string): readonly Partition[] | undefined {
  const named = topics.get(nameOrId);
  if (named) return named;
  for (const [name, partitions] of topics) if (topicIdOf(name).hex === nameOrId) return partitions;
  return undefined;
}

function fetched(
  ports: FetchPorts,
  broker: Serving,
  { topic, partition, offset }: FetchRequest['partitions'][number],
  isById: boolean,
): FetchAnswer {
  const none = (code: number) => ({ topic, partition, code, watermark: -1, records: NOTHING });
  const partitions = find(ports, topic);
  if (!partitions) return none(isById ? UNKNOWN_TOPIC_ID : CODES.UNKNOWN_TOPIC_OR_PARTITION);
  const found = partitions[partition];
  const view = found && broker.viewOf(found.topic)[partition];
  if (!found || !view) return none(CODES.UNKNOWN_TOPIC_OR_PARTITION);
  if (view.leader !== broker.id) return none(CODES.NOT_LEADER_OR_FOLLOWER);
  const watermark = found.watermark(broker.id);
  const log = found.log(broker.id);
  if (offset > (log.at(-1)?.end ?? 0)) return none(OFFSET_OUT_OF_RANGE);
  return { topic, partition, code: CODES.NONE, watermark, records: readable(log, offset, watermark) };
}

/** Most requests ask for what comes next, and find nothing. */
function readable(log: readonly Entry[], offset: number, watermark: number): Buffer {
  let first = log.length;
  while (first > 0 && (log[first - 1] as Entry).end > offset) first--;
  if (first === log.length) return NOTHING;
  const entries = log.slice(first).filter(({ end }) => end <= watermark);
  return Buffer.concat(entries.map(atItsOffset));
}

/** As brokers do, with its offset and the leader's epoch; the checksum covers neither. */
function atItsOffset({ batch, base, epoch }: Entry): Buffer {
  const bytes = Buffer.from(batch);
  bytes.writeBigInt64BE(BigInt(base), 0);
  bytes.writeInt32BE(epoch, 12);
  return bytes;
}

export function serveListOffsets(
  { topics }: FetchPorts,
  broker: Serving,
  request: Head & ListOffsetsRequest,
): Buffer {
  const listed = request.partitions.map(({ topic, partition, timestamp }) => {
    const none = (code: number) => ({ topic, partition, code, offset: -1, epoch: -1 });
    const found = topics.get(topic)?.[partition];
    const view = broker.viewOf(topic)[partition];
    if (!found || !view) return none(CODES.UNKNOWN_TOPIC_OR_PARTITION);
    if (view.leader !== broker.id) return none(CODES.NOT_LEADER_OR_FOLLOWER);
    const [first] = found.log(broker.id);
    const oldest = { offset: 0, epoch: first?.epoch ?? view.epoch };
    const end = { offset: found.watermark(broker.id), epoch: view.epoch };
    return { topic, partition, code: CODES.NONE, ...(timestamp === NEWEST ? end : oldest) };
  });
  return listOffsetsAnswer(request, listed);
}
