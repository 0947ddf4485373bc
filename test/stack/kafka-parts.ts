import { join, resolve } from 'node:path';
import type { Jdk } from './find-jdk.ts';
import { type Bundle, type Download, fetchBundle, isDownloaded } from './maven.ts';

export const OLDEST_JAVA = 17;
/** The registry that the pom names needs Java 21. This is the newest one that was seen to run on Java 17. */
const REGISTRY_FOR_JAVA_17 = '3.0.9';

/** Where Kafka's jars are, and the registry. */
export type Parts = { kafka: string; registry: string };

const bundleFor = (jdk: Jdk): Bundle => ({
  what: 'Kafka and the schema registry (200 MB)',
  pom: resolve(import.meta.dirname, '../../deploy/local-stack/pom.xml'),
  folderProperty: 'stackDir',
  args: jdk.major >= 21 ? [] : [`-Dregistry.version=${REGISTRY_FOR_JAVA_17}`],
});

export const areDownloaded = (dir: string, jdk: Jdk): boolean => isDownloaded(dir, bundleFor(jdk));

/** Kafka and the registry as Maven brings them, downloaded unless they are there. */
export async function fetchParts(download: Download): Promise<Parts> {
  const folder = await fetchBundle(bundleFor(download.jdk), download);
  return { kafka: join(folder, 'kafka'), registry: join(folder, 'registry') };
}
