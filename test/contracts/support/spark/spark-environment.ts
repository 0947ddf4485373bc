import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findJdks } from '../../../stack/find-jdk.ts';
import { type Bundle, fetchBundle } from '../../../stack/maven.ts';
import { StackError } from '../../../stack/stack-error.ts';
import { LOCAL_DIR } from '../../../stack/start-stack.ts';

const CONNECTORS: Bundle = {
  what: "Spark's connectors for Kafka and Avro (6 MB)",
  pom: resolve(import.meta.dirname, 'pom.xml'),
  folderProperty: 'sparkDir',
  args: [],
};

/** Those that Spark 4.0 runs on. */
const JAVAS = [21, 17];

/**
 * Variables under which datacontract-cli finds Spark's connectors where Maven has put them. By itself it has Spark download
 * them, with a client of its own that knows neither Maven's settings nor its mirrors.
 */
export async function sparkEnvironment(onProgress: (line: string) => void): Promise<Record<string, string>> {
  const jdks = await findJdks(process.env);
  const jdk = JAVAS.flatMap((major) => jdks.filter((one) => one.major === major))[0];
  if (!jdk) throw new StackError(`Spark runs on Java ${JAVAS.join(' or ')}, and there is neither.`);
  const download = { dir: LOCAL_DIR, jdk, env: process.env, onProgress };
  const jars = await fetchBundle(CONNECTORS, { ...download, signal: AbortSignal.timeout(15 * 60_000) });
  const conf = join(LOCAL_DIR, 'spark');
  mkdirSync(conf, { recursive: true });
  const ivy = join(conf, 'ivysettings.xml');
  writeFileSync(
    ivy,
    `<ivysettings>
  <settings defaultResolver="jars"/>
  <resolvers>
    <filesystem name="jars"><artifact pattern="${jars}/[artifact]-[revision].[ext]"/></filesystem>
  </resolvers>
</ivysettings>
`,
  );
  writeFileSync(
    join(conf, 'spark-defaults.conf'),
    `spark.jars.ivySettings ${ivy}
spark.jars.ivy ${join(conf, 'ivy')}
spark.driver.extraClassPath ${join(jars, '*')}
spark.driver.memory 512m
spark.sql.shuffle.partitions 2
`,
  );
  return { JAVA_HOME: jdk.home, SPARK_CONF_DIR: conf, SPARK_LOCAL_IP: '127.0.0.1' };
}
