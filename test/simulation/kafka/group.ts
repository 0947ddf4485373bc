import type { Timer } from '../../../src/runtime/clock.ts';
import { type Assigned, type GroupPorts, type Member, type Requests, sameProtocols } from './group-member.ts';
import type { JoinAnswer, Left } from './group-messages.ts';
import { GROUP_CODES as CODES } from './protocol.ts';

const NOTHING = Buffer.alloc(0);
/** group.initial.rebalance.delay.ms */
const INITIAL_DELAY_MS = 50;

/** A consumer group as its coordinator has it: generations, rebalances, and members that are fenced. */
export class Group {
  readonly assigned: Assigned[] = [];
  readonly #ports: GroupPorts;
  readonly #members = new Map<string, Member>();
  /** Ids that were given out and not used yet, each until its session would be over. A rebalance waits for them. */
  readonly #given = new Map<string, Timer>();
  readonly #offsets = new Map<string, number>();
  #state: 'empty' | 'joining' | 'syncing' | 'stable' = 'empty';
  /** Whether anybody has asked to join, or has committed: only then the coordinator knows the group. */
  #exists = false;
  #generation = 0;
  /** Whether those who join do so while nobody is a member: they are given time. */
  #isFirst = false;
  #leader = '';
  #protocol = '';
  #timer: Timer | undefined;

  constructor(ports: GroupPorts) {
    this.#ports = ports;
  }

  join(request: Requests['join'], answer: (answer: JoinAnswer) => void): void {
    const { memberId } = request;
    if (memberId === '') {
      this.#exists = true;
      const id = `${request.clientId}-${this.#ports.newId()}`;
      const forget = () => {
        this.#given.delete(id);
        this.#completeIfAllJoined();
      };
      this.#given.set(id, this.#ports.after(request.sessionMs, forget));
      return answer(this.#joinAnswer(CODES.MEMBER_ID_REQUIRED, id));
    }
    const before = this.#members.get(memberId);
    if (!before && !this.#given.has(memberId))
      return answer(this.#joinAnswer(CODES.UNKNOWN_MEMBER_ID, memberId));
    this.#ungive(memberId);
    const isSame = before && sameProtocols(before.protocols, request.protocols);
    if (isSame && this.#state === 'syncing') return answer(this.#joined(memberId));
    if (isSame && this.#state === 'stable' && memberId !== this.#leader)
      return answer(this.#joined(memberId));
    before?.expiry?.cancel();
    const { assignment = NOTHING } = before ?? {};
    const { sessionMs, rebalanceMs, protocols, clientId } = request;
    const member = { id: memberId, sessionMs, rebalanceMs, protocols, clientId, assignment };
    this.#members.set(memberId, { ...member, joins: answer, syncs: undefined, expiry: undefined });
    if (this.#state === 'joining') this.#completeIfAllJoined();
    else this.#rebalance();
  }

  sync({ generation, memberId, assignments }: Requests['sync'], answer: NonNullable<Member['syncs']>): void {
    const fault = this.#faultOf(generation, memberId);
    const member = this.#members.get(memberId);
    if (fault !== CODES.NONE || !member) return answer(fault, NOTHING);
    if (this.#state === 'joining') return answer(CODES.REBALANCE_IN_PROGRESS, NOTHING);
    this.#renew(member);
    if (this.#state === 'stable') return answer(CODES.NONE, member.assignment);
    member.syncs = answer;
    if (memberId !== this.#leader) return;
    for (const one of this.#members.values())
      one.assignment = assignments.find((given) => given.memberId === one.id)?.assignment ?? NOTHING;
    this.#timer?.cancel();
    this.#state = 'stable';
    this.#noteWorker();
    for (const one of this.#members.values()) {
      one.syncs?.(CODES.NONE, one.assignment);
      one.syncs = undefined;
    }
  }

  heartbeat({ generation, memberId }: Requests['heartbeat']): number {
    const fault = this.#faultOf(generation, memberId);
    const member = this.#members.get(memberId);
    if (fault !== CODES.NONE || !member) return fault;
    if (!member.joins) this.#renew(member);
    return this.#state === 'joining' ? CODES.REBALANCE_IN_PROGRESS : CODES.NONE;
  }

  leave({ memberIds }: Requests['leave']): Left[] {
    return memberIds.map((memberId) => {
      const isKnown = this.#members.has(memberId) || this.#given.has(memberId);
      if (this.#ungive(memberId)) this.#lacksOne();
      this.#remove(memberId, 'leaves');
      return { memberId, code: isKnown ? CODES.NONE : CODES.UNKNOWN_MEMBER_ID };
    });
  }

  commit({ generation, memberId, offsets }: Requests['commit']): number {
    if (!this.#exists && generation >= 0) return CODES.ILLEGAL_GENERATION;
    this.#exists = true;
    const member = this.#members.get(memberId);
    // Who names no generation is no member: it may set offsets while nobody is one.
    if (generation >= 0 || this.#state !== 'empty') {
      const fault = this.#faultOf(generation, memberId);
      if (fault !== CODES.NONE || !member) return fault;
      if (this.#state === 'syncing') return CODES.REBALANCE_IN_PROGRESS;
      if (!member.joins) this.#renew(member);
    }
    for (const { topic, partition, offset } of offsets) {
      this.#ports.note(`${member?.clientId ?? 'nobody'} commits ${topic}[${partition}] ${offset}`);
      this.#offsets.set(`${topic}/${partition}`, offset);
    }
    return CODES.NONE;
  }

  /** -1 where none was committed. */
  committed(topic: string, partition: number): number {
    return this.#offsets.get(`${topic}/${partition}`) ?? -1;
  }

  /** Another broker coordinates now, by what was stored: who waited is answered by nobody, or told to look for it. */
  reload(tell: (answer: () => void) => void): void {
    this.#timer?.cancel();
    const members = [...this.#members.values()];
    for (const { joins, syncs, id } of members) {
      if (joins) tell(() => joins(this.#joinAnswer(CODES.NOT_COORDINATOR, id)));
      if (syncs) tell(() => syncs(CODES.NOT_COORDINATOR, NOTHING));
    }
    const isStored = this.#state === 'stable';
    // Neither ids that were only given out nor a group without a generation or an offset are stored.
    for (const id of [...this.#given.keys()]) this.#ungive(id);
    this.#exists = this.#generation > 0 || this.#offsets.size > 0;
    if (this.#generation === 0) {
      this.#members.clear();
      this.#state = 'empty';
    }
    for (const member of this.#members.values()) {
      Object.assign(member, { joins: undefined, syncs: undefined });
      this.#renew(member);
    }
    // A generation is stored with its assignment: what had not come so far has to come again.
    if (!isStored && this.#members.size > 0) this.#rebalance();
  }

  #faultOf(generation: number, memberId: string): number {
    if (!this.#members.has(memberId)) return CODES.UNKNOWN_MEMBER_ID;
    return generation === this.#generation ? CODES.NONE : CODES.ILLEGAL_GENERATION;
  }

  #rebalance(): void {
    const wasEmpty = this.#state === 'empty';
    this.#state = 'joining';
    this.#timer?.cancel();
    for (const member of this.#members.values()) {
      member.syncs?.(CODES.REBALANCE_IN_PROGRESS, NOTHING);
      member.syncs = undefined;
    }
    const longest = Math.max(0, ...[...this.#members.values()].map(({ rebalanceMs }) => rebalanceMs));
    this.#ports.note('the group rebalances');
    this.#isFirst = wasEmpty;
    this.#timer = this.#ports.after(wasEmpty ? INITIAL_DELAY_MS : longest, () => this.#complete());
    if (!wasEmpty) this.#completeIfAllJoined();
  }

  #completeIfAllJoined(): void {
    if (this.#state !== 'joining' || this.#isFirst || this.#given.size > 0) return;
    if ([...this.#members.values()].every(({ joins }) => joins !== undefined)) this.#complete();
  }

  #complete(): void {
    this.#timer?.cancel();
    this.#isFirst = false;
    for (const { id, joins, expiry } of [...this.#members.values()]) {
      if (joins) continue;
      expiry?.cancel();
      this.#members.delete(id);
    }
    const members = [...this.#members.values()];
    const [first] = members;
    this.#generation++;
    this.#state = first ? 'syncing' : 'empty';
    if (!first) return;
    this.#protocol = first.protocols[0]?.name ?? '';
    if (!this.#members.has(this.#leader)) this.#leader = first.id;
    this.#ports.note(`generation ${this.#generation}: ${members.map(({ clientId }) => clientId).join(', ')}`);
    for (const member of members) {
      member.joins?.(this.#joined(member.id));
      member.joins = undefined;
      this.#renew(member);
    }
  }

  #joined(memberId: string): JoinAnswer {
    const members = [...this.#members.values()].map(({ id, protocols }) => ({
      memberId: id,
      metadata: protocols.find(({ name }) => name === this.#protocol)?.metadata ?? NOTHING,
    }));
    const isLeader = memberId === this.#leader;
    return { ...this.#joinAnswer(CODES.NONE, memberId), members: isLeader ? members : [] };
  }

  #joinAnswer(code: number, memberId: string): JoinAnswer {
    if (code !== CODES.NONE)
      return { code, generation: -1, protocol: '', leaderId: '', memberId, members: [] };
    const generation = this.#generation;
    const protocol = this.#protocol;
    const leaderId = this.#leader;
    return { code, generation, protocol, leaderId, memberId, members: [] };
  }

  #renew(member: Member): void {
    member.expiry?.cancel();
    member.expiry = this.#ports.after(member.sessionMs, () => {
      // Who waits for the others is known to be there.
      if (!member.joins && this.#members.get(member.id) === member)
        this.#remove(member.id, 'is not heard of');
    });
  }

  #remove(id: string, why: string): void {
    const member = this.#members.get(id);
    if (!member) return;
    member.expiry?.cancel();
    this.#members.delete(id);
    this.#ports.note(`${member.clientId} ${why}`);
    member.joins?.(this.#joinAnswer(CODES.UNKNOWN_MEMBER_ID, ''));
    this.#lacksOne();
  }

  /** One that was a member, or was to be one, has gone. */
  #lacksOne(): void {
    if (this.#state === 'empty') return;
    if (this.#members.size === 0 && this.#given.size === 0) this.#complete();
    else if (this.#state === 'joining') this.#completeIfAllJoined();
    else this.#rebalance();
  }

  /** @returns whether the id was given out and not used yet */
  #ungive(id: string): boolean {
    this.#given.get(id)?.cancel();
    return this.#given.delete(id);
  }

  #noteWorker(): void {
    const [most] = [...this.#members.values()].sort((a, b) => b.assignment.length - a.assignment.length);
    if (!most) return;
    this.#ports.note(`${most.clientId} is given the partitions`);
    this.assigned.push({ at: this.#ports.now(), generation: this.#generation, clientId: most.clientId });
  }
}
