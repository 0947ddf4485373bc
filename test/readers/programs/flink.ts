import { createReadStream, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { RecordsPlace } from '../records/fill-topics.ts';
import { digestOf, type Fields } from '../records/record-list.ts';
import { FLINK, javaProgram } from './java.ts';
import { type ReadRecord, runReader } from './run-program.ts';

type Row = Fields & { topic: string; partition: number; offset: number; key: string };

/** Flink SQL writes the rows of each topic to files of JSON, which are read here. */
export async function readWithFlink(place: RecordsPlace): Promise<ReadRecord[]> {
  const dir = mkdtempSync(join(tmpdir(), 'hookline-flink-'));
  const folder = join(dir, 'rows');
  const scratch = join(dir, 'scratch');
  for (const one of [folder, scratch]) mkdirSync(one);
  try {
    const options = [`-Djava.io.tmpdir=${scratch}`];
    await runReader(await javaProgram(FLINK, 'readers.ReadWithFlinkSql', [folder], options), place);
    const records: ReadRecord[] = [];
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const input = createReadStream(join(entry.parentPath, entry.name));
      for await (const line of createInterface({ input })) records.push(recordOf(JSON.parse(line)));
    }
    return records;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function recordOf({ topic, partition, offset, key, ...columns }: Row): ReadRecord {
  const { source, receivedAt } = columns;
  const value = {
    ...columns,
    source: typeof source === 'string' ? digestOf(Buffer.from(source)) : null,
    // A timestamp without a zone: Flink means UTC.
    receivedAt: Date.parse(`${String(receivedAt).replace(' ', 'T')}Z`),
  };
  return { topic, partition, offset, key, value };
}
