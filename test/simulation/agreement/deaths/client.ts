import { Conversation } from '../wire/conversation.ts';
import { metadata } from '../wire/platformatic-requests.ts';
import type { WireRequest } from '../wire/wire-request.ts';
import { BROKERS } from './plan.ts';
import { note, type Scene } from './run.ts';

/** Work that waits by yielding: one step after the other, on either clock. */
export type Steps<T = void> = AsyncGenerator<void, T>;

/** What became of a request. */
export type Outcome = { readonly answer: object } | 'closed' | 'silent';

const SILENT_MS = 1_500;
const AGAIN_MS = 50;

export async function* pause(scene: Scene, ms: number): Steps {
  const end = scene.target.now() + ms;
  while (scene.target.now() < end) yield;
}

type Topics = {
  readonly topics: readonly {
    readonly topicId: string;
    readonly partitions: readonly {
      readonly partitionIndex: number;
      readonly errorCode: number;
      readonly leaderId: number;
      readonly isrNodes: readonly number[];
    }[];
  }[];
};
export type PartitionView = Topics['topics'][number]['partitions'][number];

/** One client with a connection of its own to each broker, which sends one request after the other. */
export class Client {
  topicId = '';
  readonly #scene: Scene;
  readonly #talks: readonly Conversation[];
  #turn = 0;

  constructor(scene: Scene, first: number) {
    this.#scene = scene;
    this.#turn = first;
    this.#talks = Array.from({ length: BROKERS }, (_, n) => new Conversation(scene.target, n + 1));
  }

  async *ask(broker: number, request: WireRequest): Steps<Outcome> {
    const talk = this.#talks[broker - 1] as Conversation;
    const exchange = await talk.write(request);
    const end = this.#scene.target.now() + SILENT_MS;
    while (exchange.answer === undefined && !exchange.isClosed && this.#scene.target.now() < end) yield;
    if (exchange.answer !== undefined) return { answer: await request.read(exchange.answer) };
    if (exchange.isClosed) return 'closed';
    talk.reset();
    return 'silent';
  }

  /** The next one that is asked what any broker knows. */
  any = (): number => (this.#turn++ % BROKERS) + 1;

  /** What a broker knows of the topic, asked until one answers. */
  async *partitions(): Steps<readonly PartitionView[]> {
    for (;;) {
      const outcome = yield* this.ask(this.any(), metadata([this.#scene.topic]));
      if (typeof outcome === 'string') note(this.#scene, `metadata ${outcome}`);
      else {
        const [topic] = (outcome.answer as Topics).topics;
        this.topicId = topic?.topicId ?? '';
        for (const { errorCode, leaderId, isrNodes } of topic?.partitions ?? [])
          note(
            this.#scene,
            `metadata ${errorCode}, ${leaderId < 0 ? 'no leader' : 'a leader'}, ${isrNodes.length} in sync`,
          );
        if (topic && topic.partitions.length > 0)
          return topic.partitions.toSorted((a, b) => a.partitionIndex - b.partitionIndex);
      }
      yield* pause(this.#scene, AGAIN_MS);
    }
  }

  async *leaderOf(partition: number): Steps<number> {
    for (;;) {
      const leader = (yield* this.partitions())[partition]?.leaderId ?? -1;
      if (leader > 0) return leader;
      yield* pause(this.#scene, AGAIN_MS);
    }
  }

  close(): void {
    for (const talk of this.#talks) talk.reset();
  }
}
