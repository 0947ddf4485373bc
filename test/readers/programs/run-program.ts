import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { RecordsPlace } from '../records/fill-topics.ts';
import type { Digest, Fields } from '../records/record-list.ts';

/** A record as a reader's program prints it: one line of JSON. */
export type ReadRecord = {
  readonly topic: string;
  readonly partition?: number;
  readonly offset?: number;
  readonly key: string | null;
  /** `source` as its size in bytes and its SHA-256. Null where the reader could not decode it. */
  readonly value: Fields | null;
  /** Of the object that it refers to, as fetched and verified. */
  readonly object?: Fields | null;
  /** Of the value's bytes, where the reader gives them. */
  readonly raw?: Digest;
  readonly error?: string;
};

export type Program = { readonly command: string; readonly args: readonly string[] };

/** Twenty messages of 50 MB are fetched one after the other. */
const READ_MS = 10 * 60_000;

/** Runs a reader until it ends, and gives what it printed. */
export async function runReader(
  { command, args }: Program,
  place: RecordsPlace,
  env: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<ReadRecord[]> {
  const { PATH, HOME } = process.env;
  const child = spawn(command, args, {
    env: {
      PATH,
      HOME,
      LANG: 'C.UTF-8',
      PYTHONDONTWRITEBYTECODE: '1',
      KAFKA_BROKERS: place.brokers,
      SCHEMA_REGISTRY_URL: place.registryUrl,
      BODY_STORE_ENDPOINT: place.storeEndpoint,
      TOPICS: Object.keys(place.topics).join(','),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: READ_MS,
    signal,
  });
  const records: ReadRecord[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => records.push(JSON.parse(line)));
  let errors = '';
  child.stderr.on('data', (text: Buffer) => {
    errors = `${errors}${text}`.slice(-4_000);
  });
  const [code, ending] = await once(child, 'close');
  if (code !== 0) throw new Error(`${command} ended with ${code ?? ending}: ${errors}`);
  return records;
}
