import type { Cluster } from '../../kafka/cluster.ts';
import { Conversation, type Exchange, type LineFault } from '../wire/conversation.ts';
import type { Target } from '../wire/target.ts';
import type { WireRequest } from '../wire/wire-request.ts';
import { type Difference, differencesOf, isOtherLeader, plain } from './difference.ts';

/** A member of the group, as one of the two targets knows it. */
export type MemberSide = {
  readonly talk: Conversation;
  /** Of the member; '' before it has one. */
  id: string;
  generation: number;
  /** Where it leads: all members of its generation. */
  led: readonly string[];
  /** What it has asked and is not answered yet. */
  pending: Exchange | undefined;
};

/** Connections for data beside each other. */
export const LINES = 2;

/** One of the two targets, with the connections to it. */
export class Side {
  readonly target: Target;
  readonly lines: readonly Conversation[];
  readonly members = new Map<string, MemberSide>();
  topicId = '';
  readonly #names = new Map<string, string>();

  constructor(target: Target, members: readonly string[]) {
    this.target = target;
    this.lines = Array.from({ length: LINES }, () => new Conversation(target));
    for (const name of members) {
      const talk = new Conversation(target);
      this.members.set(name, { talk, id: '', generation: -1, led: [], pending: undefined });
    }
  }

  line(n: number): Conversation {
    return this.lines[n] as Conversation;
  }

  member(name: string): MemberSide {
    return this.members.get(name) as MemberSide;
  }

  /** Both targets name ids in the same order. */
  call(id: string, name: string): void {
    if (id !== '' && !this.#names.has(id)) this.#names.set(id, `${name} ${this.#names.size}`);
  }

  nameOf = (text: string): string => this.#names.get(text) ?? text;

  /** What a request is answered, outside of what is compared. */
  async ask(request: WireRequest): Promise<object> {
    const line = this.line(0);
    const exchange = await line.write(request);
    await line.answered([exchange]);
    if (exchange.answer === undefined) throw new Error(`${this.target.name} did not answer ${request.name}`);
    return request.read(exchange.answer);
  }

  close(): void {
    for (const line of this.lines) line.reset();
    for (const { talk } of this.members.values()) talk.reset();
  }
}

type Ask = { readonly line?: number; readonly fault?: LineFault | undefined };

/** A real broker and the model, which are asked the same, one step after the other. */
export class Lockstep {
  readonly kafka: Side;
  readonly model: Side;
  readonly cluster: Cluster;
  readonly differences: Difference[] = [];
  /** What both were asked, for a reader. */
  readonly story: string[] = [];
  /** Whether another member leads the group in one of the two than in the other: what follows cannot be compared. */
  hasOtherLeader = false;
  /** Answers that were compared. */
  compared = 0;

  constructor(kafka: Side, model: Side, cluster: Cluster) {
    this.kafka = kafka;
    this.model = model;
    this.cluster = cluster;
  }

  get sides(): readonly [model: Side, kafka: Side] {
    return [this.model, this.kafka];
  }

  /** Asks both the same, and compares what they answer. */
  async ask(what: string, request: (side: Side) => WireRequest, how: Ask = {}): Promise<void> {
    const answer = await this.write(what, request, how);
    await answer();
  }

  /** Asks both the same. @returns what waits for the answers and compares them */
  async write(
    what: string,
    request: (side: Side) => WireRequest,
    { line = 0, fault }: Ask = {},
  ): Promise<() => Promise<void>> {
    this.story.push(fault ? `${what}, ${fault}` : what);
    const model = await this.model.line(line).write(request(this.model), fault);
    const kafka = await this.kafka.line(line).write(request(this.kafka), fault);
    return async () => {
      await this.model.line(line).answered([model]);
      await this.kafka.line(line).answered([kafka]);
      await this.compare(what, kafka, model);
    };
  }

  note(difference: Difference): void {
    this.differences.push(difference);
  }

  async compare(what: string, kafka: Exchange, model: Exchange): Promise<void> {
    this.compared++;
    const [one, other] = await Promise.all([shown(this.kafka, kafka), shown(this.model, model)]);
    const found = differencesOf(one, other, `${what} (${kafka.request.name})`);
    const leader = found.find(isOtherLeader);
    if (leader) this.hasOtherLeader = true;
    this.differences.push(...(leader ? [leader] : found));
  }
}

async function shown(side: Side, { request, answer, isClosed }: Exchange): Promise<unknown> {
  if (answer === undefined) return isClosed ? 'no answer: the connection is closed' : 'no answer';
  return plain(await request.read(answer), side.nameOf);
}
