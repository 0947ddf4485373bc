import {
  commitOffset,
  fetchOffsets,
  findCoordinator,
  type Identity,
  joinGroup,
  syncGroup,
} from '../wire/kafkajs-requests.ts';
import type { WireRequest } from '../wire/wire-request.ts';
import { type Client, pause, type Steps } from './client.ts';
import { note, type Scene } from './run.ts';

const AGAIN_MS = 50;
const PACE_MS = 60;

type Found = { readonly errorCode: number; readonly coordinator: { readonly nodeId: number } };
type Joined = { readonly errorCode: number; readonly memberId: string; readonly generationId: number };
type Committed = {
  readonly responses: readonly { readonly partitions: readonly { readonly errorCode: number }[] }[];
};
type Offsets = {
  readonly errorCode: number;
  readonly responses: readonly { readonly partitions: readonly { readonly offset: string }[] }[];
};

/** The one member of a group: it commits 1, 2, 3 and so on, each again until it is acknowledged. */
export class Committer {
  readonly #scene: Scene;
  readonly #client: Client;
  readonly #group: string;
  #coordinator = 0;

  constructor(scene: Scene, client: Client) {
    this.#scene = scene;
    this.#client = client;
    this.#group = `${scene.topic}.group`;
  }

  /** Joins before the faults begin. */
  async *join(): Steps<Identity> {
    let memberId = '';
    for (;;) {
      const joined = (yield* this.#ask(joinGroup(this.#group, memberId))) as Joined | undefined;
      if (joined && joined.memberId !== '') memberId = joined.memberId;
      if (joined?.errorCode === 0) {
        const member = { groupId: this.#group, memberId, generationId: joined.generationId };
        const own = [{ memberId, memberAssignment: Buffer.from('all') }];
        const synced = (yield* this.#ask(syncGroup(member, own))) as Joined | undefined;
        if (synced?.errorCode === 0) return member;
      }
      yield* pause(this.#scene, AGAIN_MS);
    }
  }

  async *commit(member: Identity): Steps {
    const { run, topic } = this.#scene;
    for (let offset = 1; !this.#scene.isOver; offset++) {
      for (;;) {
        const at = { topic, partition: 0, offset };
        const answer = (yield* this.#ask(commitOffset(member, at))) as Committed | undefined;
        const code = answer?.responses[0]?.partitions[0]?.errorCode;
        if (code !== undefined) note(this.#scene, `commit ${code}`);
        run.commits.push({ offset, isAcknowledged: code === 0 });
        if (code === 0) break;
        this.#coordinator = 0;
        yield* pause(this.#scene, AGAIN_MS);
      }
      yield* pause(this.#scene, PACE_MS);
    }
  }

  async *committed(): Steps<number> {
    for (;;) {
      const answer = (yield* this.#ask(fetchOffsets(this.#group, this.#scene.topic, [0]))) as
        | Offsets
        | undefined;
      if (answer?.errorCode === 0) return Number(answer.responses[0]?.partitions[0]?.offset);
      this.#coordinator = 0;
      yield* pause(this.#scene, AGAIN_MS);
    }
  }

  /** Asks the coordinator, which is found first where it is not known. */
  async *#ask(request: WireRequest): Steps<object | undefined> {
    if (this.#coordinator === 0) {
      const found = yield* this.#client.ask(this.#client.any(), findCoordinator(this.#group));
      if (typeof found === 'string') {
        note(this.#scene, `find coordinator ${found}`);
        return undefined;
      }
      const { errorCode, coordinator } = found.answer as Found;
      note(this.#scene, `find coordinator ${errorCode}`);
      if (errorCode !== 0) return undefined;
      this.#coordinator = coordinator.nodeId;
    }
    const outcome = yield* this.#client.ask(this.#coordinator, request);
    if (typeof outcome !== 'string') return outcome.answer;
    note(this.#scene, `coordinator ${outcome}`);
    this.#coordinator = 0;
    return undefined;
  }
}
