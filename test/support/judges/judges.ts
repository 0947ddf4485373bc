import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { findJdks, newestOf } from '../../stack/find-jdk.ts';
import { type Bundle, fetchBundle } from '../../stack/maven.ts';
import type { Env } from '../../stack/stack.ts';
import { StackError } from '../../stack/stack-error.ts';

/** Kafka's own console consumer and Avro's own tools: they know nothing of Hookline, and judge what it writes. */
export type Judges = {
  /** The value of one record, byte for byte, and its headers and key as Kafka's console consumer prints them. */
  consume(at: { brokers: string; topic: string; partition: number; offset: number }): Promise<{
    headers: string;
    key: string;
    value: Buffer;
  }>;
  /** Avro binary in Avro's JSON encoding, as the Java tools decode it. */
  decode(schema: string, binary: Buffer): Promise<unknown>;
};

const BUNDLE: Bundle = {
  what: "Kafka's and Avro's tools (110 MB)",
  pom: resolve(import.meta.dirname, 'pom.xml'),
  folderProperty: 'judgesDir',
  args: [],
};

const DEADLINE_MS = 60_000;

export async function callJudges(env: Env, dir: string): Promise<Judges> {
  const jdk = newestOf(await findJdks(env));
  if (!jdk) throw new StackError('The judges are Java programs, and there is no Java.');
  const signal = AbortSignal.timeout(15 * 60_000);
  const folder = await fetchBundle(BUNDLE, {
    dir,
    jdk,
    env,
    signal,
    onProgress: (line) => console.log(`judges: ${line}`),
  });
  const java = async (main: string, args: readonly string[], input: Uint8Array = new Uint8Array()) => {
    const running = promisify(execFile)(
      join(jdk.home, 'bin/java'),
      ['-cp', join(folder, '*'), main, ...args],
      {
        encoding: 'buffer',
        timeout: DEADLINE_MS,
        maxBuffer: 256 * 1024 * 1024,
      },
    );
    running.child.stdin?.end(input);
    return Buffer.from((await running).stdout);
  };
  return {
    async consume({ brokers, topic, partition, offset }) {
      const where = ['--topic', topic, '--partition', String(partition), '--offset', String(offset)];
      const parts = ['print.headers', 'print.key'].flatMap((name) => [
        '--formatter-property',
        `${name}=true`,
      ]);
      const consumer = 'org.apache.kafka.tools.consumer.ConsoleConsumer';
      const printed = await java(consumer, [
        '--bootstrap-server',
        brokers,
        ...where,
        '--max-messages',
        '1',
        ...parts,
      ]);
      const first = printed.indexOf('\t');
      const second = printed.indexOf('\t', printed.indexOf('\t') + 1);
      return {
        headers: printed.toString('utf8', 0, first),
        key: printed.toString('utf8', first + 1, second),
        value: printed.subarray(second + 1, printed.length - 1),
      };
    },
    // The schema as an argument and the bytes on standard input: opening files it would need an older Java.
    async decode(schema, binary) {
      return JSON.parse(String(await java('org.apache.avro.tool.Main', ['fragtojson', schema, '-'], binary)));
    },
  };
}

/** Avro's JSON encoding wraps each union's value in the name of its type: without these wrappings. */
export function unwrapUnions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unwrapUnions);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const [only] = entries;
  const isWrapping =
    entries.length === 1 && only && /^(string|array|long|int|boolean|double|hookline\..*)$/.test(only[0]);
  if (isWrapping) return unwrapUnions(only[1]);
  return Object.fromEntries(entries.map(([name, inner]) => [name, unwrapUnions(inner)]));
}
