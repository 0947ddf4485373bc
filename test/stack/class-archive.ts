import { existsSync, mkdirSync, mkdtempSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { createKafkaNode } from './kafka-node.ts';
import { kafkaProperties, planNodes } from './kafka-properties.ts';
import { underLock } from './lock.ts';
import { planPorts } from './plan-ports.ts';
import type { StartInput } from './stack.ts';
import { startSupervisor } from './supervise.ts';

export type ArchiveInput = Pick<StartInput, 'dir' | 'signal' | 'onProgress'> & {
  java: string;
  /** Kafka's jars: the archive lies beside them. */
  jars: string;
  jdkMajor: number;
};

const READY_MS = 120_000;
const MADE_WITHIN_MS = 5 * 60_000;

/**
 * The classes that Kafka loads as the JVM keeps them (class data sharing): a broker then starts in half the time, with
 * half of the processor's work. It is made once, by a broker that starts and stops. Null where this JVM makes none.
 */
export async function kafkaClassArchive(input: ArchiveInput): Promise<string | null> {
  const { jars, jdkMajor, dir, signal } = input;
  const file = join(jars, '..', `kafka-java-${jdkMajor}.jsa`);
  if (existsSync(file)) return file;
  mkdirSync(dir, { recursive: true });
  const onWait = () => input.onProgress("waiting for another process that prepares Kafka's classes");
  const made = underLock(`${file}.lock`, { deadlineMs: MADE_WITHIN_MS, signal, onWait }, async () => {
    if (!existsSync(file)) await makeArchive(file, input);
  });
  await made.catch((error: Error) => {
    signal.throwIfAborted();
    input.onProgress(`Kafka starts without an archive of its classes: ${error.message}`);
  });
  return existsSync(file) ? file : null;
}

async function makeArchive(
  file: string,
  { java, jars, dir, signal, onProgress }: ArchiveInput,
): Promise<void> {
  onProgress("preparing Kafka's classes, once");
  const runDir = mkdtempSync(join(dir, 'run-'));
  const supervisor = await startSupervisor(runDir);
  try {
    const [plan] = planNodes(await planPorts({ nodes: 1 }));
    if (!plan) return;
    const folder = join(runDir, 'kafka');
    const unfinished = join(runDir, 'kafka.jsa');
    const node = createKafkaNode({
      supervisor,
      java,
      folder,
      classpath: join(jars, '*'),
      plan,
      properties: kafkaProperties({
        node: plan,
        nodes: [plan],
        logDir: join(folder, 'data'),
        listenHost: '127.0.0.1',
        advertisedHost: '127.0.0.1',
      }),
      heapMb: 256,
      jvmArgs: [`-XX:ArchiveClassesAtExit=${unfinished}`],
    });
    await node.format({ deadlineMs: READY_MS, signal });
    await node.start();
    await node.waitReady(1, { deadlineMs: READY_MS, signal });
    await node.kill('SIGTERM');
    renameSync(unfinished, file);
  } finally {
    await supervisor.end();
  }
}
