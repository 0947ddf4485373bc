import { join, resolve } from 'node:path';
import type { Jdk } from './find-jdk.ts';
import { type Bundle, type Download, fetchBundle, isDownloaded } from './maven.ts';
import type { Env } from './stack.ts';

export const OLDEST_JAVA = 17;
/** The registry that the pom names needs Java 21. This is the newest one that was seen to run on Java 17. */
const REGISTRY_FOR_JAVA_17 = '3.0.9';

/** Where Kafka's jars are, and the registry. */
export type Parts = { kafka: string; registry: string };

/** HOOKLINE_STACK_KAFKA and HOOKLINE_STACK_REGISTRY name other versions than the POM: see docs/operations.md. */
const bundleFor = (jdk: Jdk, env: Env): Bundle => {
  const kafka = env.HOOKLINE_STACK_KAFKA;
  const registry = env.HOOKLINE_STACK_REGISTRY || (jdk.major >= 21 ? undefined : REGISTRY_FOR_JAVA_17);
  return {
    what: 'Kafka and the schema registry (200 MB)',
    pom: resolve(import.meta.dirname, '../../deploy/local-stack/pom.xml'),
    folderProperty: 'stackDir',
    args: [
      ...(kafka ? [`-Dkafka.version=${kafka}`] : []),
      ...(registry ? [`-Dregistry.version=${registry}`] : []),
    ],
  };
};

export const namesVersions = (env: Env): boolean =>
  Boolean(env.HOOKLINE_STACK_KAFKA || env.HOOKLINE_STACK_REGISTRY);

export const areDownloaded = (dir: string, jdk: Jdk, env: Env): boolean =>
  isDownloaded(dir, bundleFor(jdk, env));

/** Kafka and the registry as Maven brings them, downloaded unless they are there. */
export async function fetchParts(download: Download): Promise<Parts> {
  const folder = await fetchBundle(bundleFor(download.jdk, download.env), download);
  return { kafka: join(folder, 'kafka'), registry: join(folder, 'registry') };
}
