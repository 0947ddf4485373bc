import type { Random } from '../../../faults/random.ts';
import type { Exchange, LineFault } from '../wire/conversation.ts';
import {
  commitOffset,
  fetchOffsets,
  findCoordinator,
  heartbeat,
  type Identity,
  joinGroup,
  leaveGroup,
  syncGroup,
} from '../wire/kafkajs-requests.ts';
import { CLIENT_ID, type WireRequest } from '../wire/wire-request.ts';
import { PARTITIONS } from './data-steps.ts';
import type { Lockstep, MemberSide, Side } from './lockstep.ts';

export const MEMBERS = ['a', 'b', 'c'];
/** Ids that the coordinator has not given. */
const STRANGERS = ['stranger-1', `${CLIENT_ID}-1`];
/** How long the model may take for what waits for nobody. */
const MODEL_MS = 500;
/** How long the broker gets to answer what the model does not answer. */
const SILENT_MS = 15;
const ANSWERED_MS = 15_000;
/** How long a request whose connection broke may take until its effect is seen. */
const EFFECT_MS = 500;

type Joined = {
  readonly errorCode: number;
  readonly generationId: number;
  readonly memberId: string;
  readonly leaderId: string;
  readonly members: readonly { readonly memberId: string }[];
};
const KINDS = ['join', 'sync', 'heartbeat', 'commit', 'leave'] as const;
type Kind = (typeof KINDS)[number];
/** Those that never wait for another member. */
const AT_ONCE: readonly Kind[] = ['heartbeat', 'commit', 'leave'];

type Named = { readonly group: string; readonly topic: string; readonly random: Random };

/**
 * What members of a consumer group ask, each step drawn at random: one of them, or a stranger, with the right generation
 * or another, whether it is what a member would do now or not.
 */
export class GroupSteps {
  readonly #both: Lockstep;
  readonly #group: string;
  readonly #topic: string;
  readonly #random: Random;
  readonly #pending = new Map<string, Kind>();
  #offset = 0;

  constructor(both: Lockstep, { group, topic, random }: Named) {
    this.#both = both;
    this.#group = group;
    this.#topic = topic;
    this.#random = random;
  }

  async step(): Promise<void> {
    if (this.#both.hasOtherLeader) return;
    const random = this.#random;
    const name = random.pick(MEMBERS);
    if (this.#pending.has(name)) {
      // Its connection answers one request after the other.
      if (random.chance(0.15)) this.#reset(name);
      return;
    }
    if (random.chance(0.05)) return this.#both.ask('find coordinator', () => findCoordinator(this.#group));
    if (random.chance(0.1)) return this.compareOffsets();
    const kind = random.pick([...KINDS, 'join', 'join', 'sync', 'sync'] as const);
    if (kind === 'leave' && random.chance(0.5)) return;
    const stranger = random.chance(0.08) ? random.pick(STRANGERS) : undefined;
    const drift = random.chance(0.12) ? random.pick([-1, 1]) : 0;
    const request = this.#requestOf(name, { kind, stranger, drift });
    if (stranger) return this.#both.ask(`${kind} of a stranger`, request);
    const drawn = AT_ONCE.includes(kind) && random.chance(0.25) ? random.pick(FAULTS) : undefined;
    // Nothing shows whether a member that has not joined yet is gone.
    const isHidden = kind === 'leave' && this.#both.kafka.member(name).generation < 0;
    const fault = drawn === 'open' && isHidden ? 'lost' : drawn;
    if (fault) return this.#sendFailing(name, { kind, request, fault });
    await this.#send(name, kind, request);
  }

  #requestOf(
    name: string,
    { kind, stranger, drift }: { kind: Kind; stranger?: string | undefined; drift: number },
  ) {
    const offset = { topic: this.#topic, partition: this.#random.below(PARTITIONS), offset: ++this.#offset };
    return (side: Side): WireRequest => {
      const own = side.member(name);
      const member = this.#identity(stranger ?? own.id, own.generation + drift);
      switch (kind) {
        case 'join':
          return joinGroup(this.#group, member.memberId);
        case 'sync':
          return syncGroup(
            member,
            own.led.map((id) => ({ memberId: id, memberAssignment: assigned(side, id) })),
          );
        case 'heartbeat':
          return heartbeat(member);
        case 'commit':
          return commitOffset(member, offset);
        case 'leave':
          return leaveGroup(member);
      }
    };
  }

  #identity = (memberId: string, generationId: number): Identity => {
    return { groupId: this.#group, memberId, generationId };
  };

  #offsets = (): WireRequest =>
    fetchOffsets(
      this.#group,
      this.#topic,
      Array.from({ length: PARTITIONS }, (_, n) => n),
    );

  compareOffsets(): Promise<void> {
    return this.#both.ask('offsets', this.#offsets);
  }

  /** All members leave; whoever waits goes. */
  async end(): Promise<void> {
    for (const name of MEMBERS) {
      if (this.#both.hasOtherLeader) return;
      await this.#both.ask('leave at the end', (side) =>
        leaveGroup(this.#identity(side.member(name).id, -1)),
      );
      await this.#settle();
    }
  }

  /** The connection breaks: nobody knows whether it was carried out. The model goes on in the way that the broker did. */
  async #sendFailing(
    name: string,
    { kind, request, fault }: { kind: Kind; request: (side: Side) => WireRequest; fault: LineFault },
  ): Promise<void> {
    const { kafka, model, story } = this.#both;
    const seen = () => this.#seenOf(name);
    const before = await seen();
    await kafka.member(name).talk.write(request(kafka), fault);
    let isDone = fault === 'lost';
    const begin = kafka.target.now();
    while (fault === 'open' && !isDone && kafka.target.now() - begin < EFFECT_MS && kind !== 'heartbeat') {
      isDone = (await seen()) !== before;
      await kafka.target.pass(5);
    }
    story.push(`${kind} of ${name}, ${fault}: ${isDone ? 'carried out' : 'not carried out'}`);
    await model.member(name).talk.write(request(model), isDone ? 'lost' : 'half');
    await this.#settle();
    if (kind === 'leave') await this.#endRebalance();
    await this.compareOffsets();
    const beat = (side: Side) =>
      heartbeat(this.#identity(side.member(name).id, side.member(name).generation));
    await this.#both.ask('heartbeat afterwards', beat);
  }

  /** What shows whether a commit or a leaving was carried out by the broker. */
  async #seenOf(name: string): Promise<string> {
    const { kafka } = this.#both;
    const { id, generation } = kafka.member(name);
    const offsets = await kafka.ask(this.#offsets());
    const beat = await kafka.ask(heartbeat(this.#identity(id, generation)));
    return JSON.stringify([offsets, beat]);
  }

  async #send(name: string, kind: Kind, request: (side: Side) => WireRequest): Promise<void> {
    this.#both.story.push(`${kind} of ${name}`);
    this.#pending.set(name, kind);
    for (const side of this.#both.sides) {
      const member = side.member(name);
      member.pending = await member.talk.write(request(side));
    }
    await this.#settle();
    if (kind === 'leave') await this.#endRebalance();
  }

  /**
   * Where no member is left and an id was given out, a broker ends the rebalance by a timer of 0 ms, in another thread: who
   * joins before that is of the same generation, and in the model always of the next.
   */
  #endRebalance(): Promise<unknown> {
    return this.#both.kafka.target.pass(SILENT_MS);
  }

  /** Waits until the broker has answered what the model answers, and gives it the time to answer more. */
  async #settle(): Promise<void> {
    const { model, kafka } = this.#both;
    if (this.#pending.size === 0) return;
    const waiting = [...this.#pending.keys()];
    await model.target.pass(MODEL_MS, () => waiting.every((one) => isAnswered(model.member(one))));
    const answered = waiting.filter((one) => isAnswered(model.member(one)));
    await kafka.target.pass(ANSWERED_MS, () => answered.every((one) => isAnswered(kafka.member(one))));
    if (answered.length < waiting.length) await kafka.target.pass(SILENT_MS);
    for (const [name, kind] of [...this.#pending])
      if (this.#both.sides.some((side) => isAnswered(side.member(name)))) await this.#answered(name, kind);
  }

  async #answered(name: string, kind: Kind): Promise<void> {
    this.#pending.delete(name);
    const [model, kafka] = await Promise.all(
      this.#both.sides.map(async (side) => {
        const member = side.member(name);
        const exchange = member.pending as Exchange;
        member.pending = undefined;
        if (kind === 'join' && exchange.answer) await take(side, name, exchange);
        if (kind === 'leave') Object.assign(member, { id: '', generation: -1, led: [] });
        // One that only the other target has answered: the next request would wait behind it.
        if (!exchange.answer) member.talk.reset();
        return exchange;
      }),
    );
    await this.#both.compare(kind, kafka as Exchange, model as Exchange);
  }

  /** Its connection breaks; it is a member still, until it is not heard of for long. */
  #reset(name: string): void {
    this.#both.story.push(`the connection of ${name} breaks`);
    this.#pending.delete(name);
    for (const side of this.#both.sides) {
      const member = side.member(name);
      member.talk.reset();
      member.pending = undefined;
    }
  }
}

const FAULTS: readonly LineFault[] = ['half', 'open', 'lost'];

const isAnswered = ({ pending }: MemberSide) => pending?.answer !== undefined || pending?.isClosed === true;

/** What the leader gives a member: a text that is the same in both targets. */
const assigned = (side: Side, id: string): Buffer => Buffer.from(`for ${side.nameOf(id)}`);

async function take(side: Side, name: string, { request, answer }: Exchange): Promise<void> {
  const member = side.member(name);
  const joined = (await request.read(answer as Buffer)) as Joined;
  side.call(joined.memberId, name);
  if (joined.memberId !== '') member.id = joined.memberId;
  if (joined.errorCode !== 0) return;
  member.generation = joined.generationId;
  member.led = joined.leaderId === joined.memberId ? joined.members.map(({ memberId }) => memberId) : [];
}
