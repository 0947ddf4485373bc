import type { Random } from '../../faults/random.ts';
import type { Actor, Simulation } from '../engine/simulation.ts';
import { Group } from './group.ts';
import {
  codeAnswer,
  commitAnswer,
  coordinatorAnswer,
  type GroupRequest,
  joinAnswer,
  leaveAnswer,
  offsetsAnswer,
  syncAnswer,
} from './group-messages.ts';
import type { Partition } from './partition.ts';
import { GROUP_CODES as CODES, type Head } from './protocol.ts';
import type { AnswerFaults, Reply, Serving } from './serve-produce.ts';

/** Its leader coordinates the group. Nothing is written to it: the group keeps what would stand there. */
export const OFFSETS_TOPIC = '__consumer_offsets';
/** How long a broker reads what is stored of a group before it coordinates it. */
const LOADING_MS = { least: 5, most: 80 };

export type CoordinatorPorts = {
  readonly simulation: Simulation;
  readonly random: Random;
  readonly brokers: readonly { readonly id: number; readonly host: string; readonly port: number }[];
  readonly topics: ReadonlyMap<string, readonly Partition[]>;
  readonly groupFaults: AnswerFaults;
};

type Asked = Head & GroupRequest;
const NOTHING = Buffer.alloc(0);

/**
 * The one consumer group of a simulation, and the broker that coordinates it. A broker that no longer does says so, also
 * where it has not heard of that yet.
 */
export class Coordinator {
  readonly group: Group;
  readonly #ports: CoordinatorPorts;
  readonly #random: Random;
  #process: Actor | undefined;
  #epoch = 0;
  #loadedAt = 0;

  constructor(ports: CoordinatorPorts) {
    this.#ports = ports;
    const { simulation } = ports;
    this.#random = simulation.random('group');
    this.group = new Group({
      after: (ms, work) => simulation.after(ms, this.#process as Actor, work, { settles: false }),
      now: () => simulation.now,
      newId: () => Math.floor(this.#random.next() * 2 ** 32).toString(16),
      note: (what) => simulation.trace.note('group', what),
    });
  }

  serve(broker: Serving, request: Asked, reply: Reply): void {
    if (request.kind === 'find-coordinator') return reply.answer(this.#find(broker, request));
    const { simulation, groupFaults, random } = this.#ports;
    const met = groupFaults.get(broker.id);
    const fault = met && random.chance(met.chance) ? met.fault : undefined;
    if (fault) simulation.trace.note(broker.process.name, `meets ${fault.kind} at ${request.kind}`);
    const answer = (bytes: Buffer) => {
      if (fault?.kind === 'drop') return reply.connection.reset();
      if (fault?.kind === 'swallow') return reply.done();
      if (fault?.kind === 'duplicate') reply.connection.send(bytes);
      reply.answer(bytes, fault?.kind === 'delay' ? fault.ms : 0);
    };
    const code = fault?.kind === 'error' && !fault.appends ? fault.code : this.#refusal(broker);
    if (code !== CODES.NONE) return answer(refuse(request, code));
    const shown = fault?.kind === 'error' ? fault.code : undefined;
    this.#carryOut(request, (bytes) => answer(shown === undefined ? bytes : refuse(request, shown)));
  }

  #find(broker: Serving, request: Asked): Buffer {
    const leader = broker.viewOf(OFFSETS_TOPIC)[0]?.leader ?? -1;
    const found = this.#ports.brokers.find(({ id }) => id === leader);
    if (!found) return coordinatorAnswer(request, CODES.COORDINATOR_NOT_AVAILABLE, NOBODY);
    return coordinatorAnswer(request, CODES.NONE, found);
  }

  /** Why this broker cannot coordinate now. */
  #refusal({ id, process }: Serving): number {
    const [partition] = this.#ports.topics.get(OFFSETS_TOPIC) ?? [];
    if (partition?.leader !== id) return CODES.NOT_COORDINATOR;
    const { simulation } = this.#ports;
    if (process !== this.#process || partition.epoch !== this.#epoch) {
      const before = this.#process;
      this.#process = process;
      this.#epoch = partition.epoch;
      this.#loadedAt = simulation.now + this.#random.between(LOADING_MS.least, LOADING_MS.most);
      // The broker before answers those who wait, if it is there, when it hears of it.
      if (before)
        this.group.reload((answer) => simulation.after(this.#random.next() * 30, before, answer, QUIET));
    }
    return simulation.now < this.#loadedAt ? CODES.COORDINATOR_LOAD_IN_PROGRESS : CODES.NONE;
  }

  #carryOut(request: Asked, answer: (bytes: Buffer) => void): void {
    const { group } = this;
    switch (request.kind) {
      case 'join':
        return group.join(request, (joined) => answer(joinAnswer(request, joined)));
      case 'sync':
        return group.sync(request, (code, assignment) => answer(syncAnswer(request, code, assignment)));
      case 'heartbeat':
        return answer(codeAnswer(request, group.heartbeat(request)));
      case 'leave':
        return answer(leaveAnswer(request, CODES.NONE, group.leave(request)));
      case 'commit':
        return answer(commitAnswer(request, group.commit(request), request.offsets));
      case 'offsets': {
        const offsetOf = (topic: string, partition: number) => group.committed(topic, partition);
        const offsets = request.partitions.map(({ topic, partition }) => {
          return { topic, partition, offset: offsetOf(topic, partition) };
        });
        return answer(offsetsAnswer(request, CODES.NONE, offsets));
      }
    }
  }
}

const QUIET = { settles: false };
const NOBODY = { id: -1, host: '', port: -1 };

function refuse(request: Asked, code: number): Buffer {
  switch (request.kind) {
    case 'join': {
      const { memberId } = request;
      return joinAnswer(request, { code, memberId, generation: -1, protocol: '', leaderId: '', members: [] });
    }
    case 'sync':
      return syncAnswer(request, code, NOTHING);
    case 'commit':
      return commitAnswer(request, code, request.offsets);
    case 'offsets':
      return offsetsAnswer(request, code, []);
    case 'leave':
      return leaveAnswer(request, code, []);
    default:
      return codeAnswer(request, code);
  }
}
