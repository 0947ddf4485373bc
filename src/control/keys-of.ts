import type { IncomingRecord } from '../kafka/consume/incoming-record.ts';
import type { CommandReader } from './read-command.ts';

/**
 * What a command must not be run beside: others of its ref, whatever key or topic they came under, and others of its
 * id. One without a ref, or that can't be read, stays in the order of its record's key, which should be its ref, among
 * the commands of its topic: under a key that anybody can choose nobody holds up another topic's.
 * @throws HooklineError REGISTRY_UNAVAILABLE, REGISTRY_REFUSED where that can't be known now
 */
export async function keysOf(record: IncomingRecord, readCommand: CommandReader): Promise<readonly string[]> {
  const read = await readCommand(record);
  const { commandId, ref } = read.ok ? read.command : { commandId: read.commandId, ref: '' };
  const id = commandId === null ? [] : [`id ${commandId}`];
  if (ref !== '') return [`ref ${ref}`, `key ${record.topic} ${ref}`, ...id];
  return record.key === null ? id : [`key ${record.topic} ${record.key.toString()}`, ...id];
}
