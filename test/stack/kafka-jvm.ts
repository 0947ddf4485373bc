/** How Kafka's programs are called, in a container as well as outside: the command lines of a node. */

/** Any 16 bytes in base64url. Every cluster here lives in folders of its own, so one id serves all. */
const CLUSTER_ID = 'aG9va2xpbmUtbG9jYWwtMQ';

/** Only what is wrong is logged: the last lines of a node's log then say why it didn't start. */
const SHARED = ['-Dlog4j2.level=WARN'];

/** As Kafka's own start script says. A collector with longer pauses holds everybody up behind a record of 50 MB. */
const COLLECTOR = [
  '-XX:+UseG1GC',
  '-XX:MaxGCPauseMillis=20',
  '-XX:InitiatingHeapOccupancyPercent=35',
  '-XX:+ExplicitGCInvokesConcurrent',
];

/** Enough for a few 50 MB bodies at once in a node that copies them to two others. */
const DEFAULT_HEAP_MB = 768;

export type ScramUser = { mechanism: 'SCRAM-SHA-256' | 'SCRAM-SHA-512'; name: string; password: string };

/** Quick to start, since it runs for half a second: only the first compiler. */
export const formatArgs = (
  classpath: string,
  properties: string,
  scramUsers: readonly ScramUser[] = [],
): string[] => [
  ...SHARED,
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  ...['-cp', classpath, 'kafka.tools.StorageTool', 'format', '-t', CLUSTER_ID, '-c', properties],
  ...scramUsers.flatMap(({ mechanism, name, password }) => [
    '--add-scram',
    `${mechanism}=[name=${name},password=${password}]`,
  ]),
];

export const serverArgs = (classpath: string, properties: string, heapMb = DEFAULT_HEAP_MB): string[] => [
  ...SHARED,
  ...COLLECTOR,
  // All of it from the start, as Kafka's own start script says.
  ...[`-Xms${heapMb}m`, `-Xmx${heapMb}m`],
  '-XX:+ExitOnOutOfMemoryError',
  ...['-cp', classpath, 'kafka.Kafka', properties],
];
