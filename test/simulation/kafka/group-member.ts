import type { Timer } from '../../../src/runtime/clock.ts';
import type { GroupRequest, JoinAnswer } from './group-messages.ts';

export type Requests = { [K in GroupRequest['kind']]: Extract<GroupRequest, { kind: K }> };
/** A member as its coordinator has it. */
export type Member = Pick<Requests['join'], 'sessionMs' | 'rebalanceMs' | 'protocols' | 'clientId'> & {
  readonly id: string;
  assignment: Buffer;
  /** It waits for the others. */
  joins: ((answer: JoinAnswer) => void) | undefined;
  /** It waits for the leader. */
  syncs: ((code: number, assignment: Buffer) => void) | undefined;
  expiry: Timer | undefined;
};

/** Who was given the partitions of a generation, and when: who has them has the right to act. */
export type Assigned = { readonly at: number; readonly generation: number; readonly clientId: string };

export type GroupPorts = {
  /** As the broker that coordinates. */
  after(ms: number, work: () => void): Timer;
  now(): number;
  newId(): string;
  note(what: string): void;
};

type Protocols = Requests['join']['protocols'];

export const sameProtocols = (one: Protocols, other: Protocols) =>
  one.length === other.length &&
  one.every(({ name, metadata }, n) => name === other[n]?.name && metadata.equals(other[n].metadata));
