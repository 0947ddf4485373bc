import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { onPath } from '../../stack/on-path.ts';
import { StackError } from '../../stack/stack-error.ts';
import { writerType } from '../../support/topic-reader.ts';
import type { RecordsPlace } from '../records/fill-topics.ts';
import { digestOf, type Fields } from '../records/record-list.ts';
import type { ReadRecord } from './run-program.ts';

/** Where the record is, the lengths of key and value, the key, and the value's bytes as they are. */
const FORMAT = '%t %p %o %K %S\n%k%s';
const MAX_BYTES = 1024 ** 3;
const READ_MS = 120_000;

/** kcat reads each topic, and avsc decodes the bytes that it gives: Debian's kcat is built without Avro. */
export async function readWithKcat(place: RecordsPlace): Promise<ReadRecord[]> {
  const kcat = onPath('kcat', process.env);
  if (kcat === null) throw new StackError('kcat is not on the PATH. Install it: the package is kcat.');
  console.log(await kcatVersions(kcat));
  const records: ReadRecord[] = [];
  for (const topic of Object.keys(place.topics)) {
    const args = ['-C', '-q', '-b', place.brokers, '-t', topic, '-o', 'beginning', '-e', '-f', FORMAT];
    const { stdout } = await promisify(execFile)(kcat, args, {
      encoding: 'buffer',
      maxBuffer: MAX_BYTES,
      timeout: READ_MS,
    });
    for (const { head, key, value } of recordsOf(stdout)) {
      const type = await writerType(place.registryUrl, value.readInt32BE(1));
      const event = JSON.parse(JSON.stringify(type.fromBuffer(value.subarray(5)))) as Fields;
      const source = typeof event.source === 'string' ? digestOf(Buffer.from(event.source)) : null;
      const [, partition, offset] = head;
      const at = { topic, partition: Number(partition), offset: Number(offset), key };
      records.push({ ...at, value: { ...event, source }, raw: digestOf(value) });
    }
  }
  return records;
}

function* recordsOf(output: Buffer) {
  for (let at = 0; at < output.length; ) {
    const lineEnd = output.indexOf('\n', at);
    const head = output.toString('utf8', at, lineEnd).split(' ');
    const [keyLength, valueLength] = head.slice(3).map(Number) as [number, number];
    const keyEnd = lineEnd + 1 + keyLength;
    at = keyEnd + valueLength;
    yield { head, key: output.toString('utf8', lineEnd + 1, keyEnd), value: output.subarray(keyEnd, at) };
  }
}

async function kcatVersions(kcat: string): Promise<string> {
  const { stdout } = await promisify(execFile)(kcat, ['-V']);
  return /^Version .*$/m.exec(stdout)?.[0] ?? stdout;
}
