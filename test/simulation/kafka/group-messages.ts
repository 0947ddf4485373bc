import { API, answerTo, type Head } from './protocol.ts';
import type { WireReader } from './wire.ts';

type OfMember = { readonly generation: number; readonly memberId: string };
type Protocol = { readonly name: string; readonly metadata: Buffer };
type Offset = { readonly topic: string; readonly partition: number; readonly offset: number };

/** What clients ask the coordinator of a consumer group. */
export type GroupRequest =
  | { readonly kind: 'find-coordinator' }
  | {
      readonly kind: 'join';
      readonly memberId: string;
      readonly sessionMs: number;
      readonly rebalanceMs: number;
      /** The ways to assign that the member knows, the preferred one first. */
      readonly protocols: readonly Protocol[];
      /** How the client calls itself. */
      readonly clientId: string;
    }
  | (OfMember & {
      readonly kind: 'sync';
      readonly assignments: readonly { readonly memberId: string; readonly assignment: Buffer }[];
    })
  | (OfMember & { readonly kind: 'heartbeat' })
  | { readonly kind: 'leave'; readonly memberIds: readonly string[] }
  | (OfMember & { readonly kind: 'commit'; readonly offsets: readonly Offset[] })
  | { readonly kind: 'offsets'; readonly partitions: readonly Omit<Offset, 'offset'>[] };

const text = (reader: WireReader) => reader.string() ?? '';
const bytes = (reader: WireReader) => Buffer.from(reader.take(reader.length()));
const list = <T>(reader: WireReader, read: () => T): T[] => reader.array(read) ?? [];

/** Reads those of one version: see VERSIONS. All have the group's name first. */
export function readGroupRequest(reader: WireReader, api: number, clientId: string): GroupRequest {
  text(reader);
  const ofMember = () => {
    const member = { generation: reader.int32(), memberId: text(reader) };
    if (api !== API.OFFSET_COMMIT) reader.string(); // the instance's id, which nobody gives
    return member;
  };
  const topics = <T>(read: () => T) =>
    list(reader, () => {
      const topic = text(reader);
      return list(reader, () => ({ topic, partition: reader.int32(), ...read() }));
    }).flat();
  switch (api) {
    case API.JOIN_GROUP: {
      const sessionMs = reader.int32();
      const rebalanceMs = reader.int32();
      const memberId = text(reader);
      reader.string();
      reader.string(); // "consumer"
      const protocols = list(reader, () => ({ name: text(reader), metadata: bytes(reader) }));
      return { kind: 'join', memberId, sessionMs, rebalanceMs, protocols, clientId };
    }
    case API.SYNC_GROUP: {
      const member = ofMember();
      const assignments = list(reader, () => ({ memberId: text(reader), assignment: bytes(reader) }));
      return { kind: 'sync', ...member, assignments };
    }
    case API.HEARTBEAT:
      return { kind: 'heartbeat', ...ofMember() };
    case API.LEAVE_GROUP: {
      const memberIds = list(reader, () => {
        const memberId = text(reader);
        reader.string();
        return memberId;
      });
      return { kind: 'leave', memberIds };
    }
    case API.OFFSET_COMMIT: {
      const member = ofMember();
      const offsets = topics(() => {
        const offset = Number(reader.int64());
        reader.string();
        return { offset };
      });
      return { kind: 'commit', ...member, offsets };
    }
    case API.OFFSET_FETCH:
      return { kind: 'offsets', partitions: topics(() => ({})) };
    default:
      return { kind: 'find-coordinator' };
  }
}

export type Coordinator = { readonly id: number; readonly host: string; readonly port: number };

export function coordinatorAnswer(head: Head, code: number, coordinator: Coordinator): Buffer {
  const writer = answerTo(head);
  writer.int32(0);
  writer.int16(code);
  writer.string(code === 0 ? 'NONE' : null);
  writer.int32(coordinator.id);
  writer.string(coordinator.host);
  writer.int32(coordinator.port);
  return writer.frame();
}

export type JoinAnswer = {
  readonly code: number;
  readonly generation: number;
  readonly protocol: string;
  readonly leaderId: string;
  readonly memberId: string;
  readonly members: readonly { readonly memberId: string; readonly metadata: Buffer }[];
};

export function joinAnswer(head: Head, answer: JoinAnswer): Buffer {
  const writer = answerTo(head);
  writer.int32(0);
  writer.int16(answer.code);
  writer.int32(answer.generation);
  writer.string(answer.protocol);
  writer.string(answer.leaderId);
  writer.string(answer.memberId);
  writer.array(answer.members, ({ memberId, metadata }) => {
    writer.string(memberId);
    writer.string(null);
    writer.int32(metadata.length);
    writer.raw(metadata);
  });
  return writer.frame();
}

export function syncAnswer(head: Head, code: number, assignment: Buffer): Buffer {
  const writer = answerTo(head);
  writer.int32(0);
  writer.int16(code);
  writer.int32(assignment.length);
  writer.raw(assignment);
  return writer.frame();
}

/** Of a heartbeat, and of a member that leaves. */
export function codeAnswer(head: Head, code: number): Buffer {
  const writer = answerTo(head);
  writer.int32(0);
  writer.int16(code);
  return writer.frame();
}

export type Left = { readonly memberId: string; readonly code: number };

/** @param code of the whole: then nobody has left */
export function leaveAnswer(head: Head, code: number, members: readonly Left[]): Buffer {
  const writer = answerTo(head);
  writer.int32(0);
  writer.int16(code);
  writer.array(members, (member) => {
    writer.string(member.memberId);
    writer.string(null);
    writer.int16(member.code);
  });
  return writer.frame();
}

export function commitAnswer(head: Head, code: number, offsets: readonly Offset[]): Buffer {
  const writer = answerTo(head);
  writer.int32(0);
  writer.array([...Map.groupBy(offsets, ({ topic }) => topic)], ([topic, partitions]) => {
    writer.string(topic);
    writer.array(partitions, ({ partition }) => {
      writer.int32(partition);
      writer.int16(code);
    });
  });
  return writer.frame();
}

/** An offset of -1: none was committed. */
export function offsetsAnswer(head: Head, code: number, offsets: readonly Offset[]): Buffer {
  const writer = answerTo(head);
  writer.int32(0);
  writer.array([...Map.groupBy(offsets, ({ topic }) => topic)], ([topic, partitions]) => {
    writer.string(topic);
    writer.array(partitions, ({ partition, offset }) => {
      writer.int32(partition);
      writer.int64(BigInt(offset));
      writer.string('');
      writer.int16(code);
    });
  });
  writer.int16(code);
  return writer.frame();
}
