import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findJdks, newestOf } from '../../stack/find-jdk.ts';
import { fetchBundle } from '../../stack/maven.ts';
import { StackError } from '../../stack/stack-error.ts';
import { ROOT } from '../../support/source-tree.ts';
import type { Program } from './run-program.ts';

/** Git-ignored: what Maven, pip and Go brought and built. */
export const READERS_DIR = join(ROOT, '.local/readers');

/** A Maven project of test/readers/java: what it brings, with its size. */
export const CONSUMER = { name: 'consumer', what: "Kafka's consumer, Apicurio's and Avro's readers (35 MB)" };
export const FLINK = { name: 'flink', what: 'Flink SQL (160 MB)' };
export const CONNECT = { name: 'connect', what: "Kafka Connect and Iceberg's sink (150 MB)" };

/** Flink 2.2 supports 17 and 21. A newer one is taken where there is none of them. */
const SUPPORTED = { oldest: 17, newest: 21 };
const BUILD_MS = 15 * 60_000;

/** Starts a main class of a project, which Maven builds first, once for each change of its sources. */
export async function javaProgram(
  { name, what }: typeof CONSUMER,
  mainClass: string,
  args: readonly string[] = [],
  options: readonly string[] = [],
): Promise<Program> {
  const jdks = (await findJdks(process.env)).filter(({ major }) => major >= SUPPORTED.oldest);
  const jdk = newestOf(jdks.filter(({ major }) => major <= SUPPORTED.newest)) ?? newestOf(jdks);
  if (!jdk) throw new StackError(`The readers need a JDK of version ${SUPPORTED.oldest} or later.`);
  const project = join(ROOT, 'test/readers/java', name);
  const folder = await fetchBundle(
    {
      what,
      pom: join(project, 'pom.xml'),
      folderProperty: 'readersDir',
      args: [`-DsourcesHash=${hashOf(join(project, 'src/readers'))}`],
    },
    {
      dir: READERS_DIR,
      jdk,
      env: { ...process.env, JAVA_HOME: jdk.home },
      signal: AbortSignal.timeout(BUILD_MS),
      onProgress: (line) => console.log(`readers: ${line}`),
    },
  );
  const command = join(jdk.home, 'bin/java');
  return { command, args: [...options, '-cp', join(folder, '*'), mainClass, ...args] };
}

/** Of all files of a folder: Maven is called again where one of them changed. */
function hashOf(folder: string): string {
  const hash = createHash('sha256');
  for (const file of readdirSync(folder).sort()) hash.update(file).update(readFileSync(join(folder, file)));
  return hash.digest('hex').slice(0, 12);
}
