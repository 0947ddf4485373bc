import type { RecordReader } from '../avro/record-reader.ts';
import type { IncomingRecord } from '../kafka/incoming-record.ts';
import { readCommand } from './read-command.ts';

/**
 * What a command must not be run beside: others of its ref, whatever key or topic they came under, and others of its
 * id. One without a ref, or that can't be read, stays in the order of its key, which should be its ref.
 * @throws HooklineError REGISTRY_UNAVAILABLE, REGISTRY_REFUSED where that can't be known now
 */
export async function lanesOf(record: IncomingRecord, readAvro: RecordReader): Promise<readonly string[]> {
  const key = record.key === null ? [] : [`ref ${record.key.toString()}`];
  const read = await readCommand(record, readAvro);
  const { commandId, ref } = read.ok ? read.command : { commandId: read.commandId, ref: '' };
  return [...(ref === '' ? key : [`ref ${ref}`]), ...(commandId === null ? [] : [`id ${commandId}`])];
}
