import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { kafkaClassArchive } from './class-archive.ts';
import type { Jdk } from './find-jdk.ts';
import { startKafkaCluster } from './kafka-cluster.ts';
import { fetchParts } from './kafka-parts.ts';
import { planPorts } from './plan-ports.ts';
import { startRegistry } from './registry.ts';
import { type Stack, type StartInput, stackOf } from './stack.ts';
import { PortTakenError } from './stack-error.ts';
import { startSupervisor } from './supervise.ts';

/** A broker that lives for a minute spends most of it in the second compiler, to be quicker in the hours after. */
const FIRST_COMPILER = ['-XX:TieredStopAtLevel=1'];

const MAX_TRIES = 3;

type JvmInput = StartInput & { jdk: Jdk; partsDir: string };

/**
 * Kafka and the registry as plain JVM programs. They start side by side, and when one fails the other is ended. Seconds
 * lie between the look for free ports and the moment in which they are taken: where another program was faster, others
 * are taken.
 */
export async function startJvmStack(input: JvmInput, plan = planPorts): Promise<Stack> {
  for (let tries = 1; ; tries++) {
    try {
      return await startOnce(input, plan);
    } catch (error) {
      if (!(error instanceof PortTakenError) || tries === MAX_TRIES) throw error;
      input.onProgress('another program has taken a port in the meantime: once more');
    }
  }
}

async function startOnce(input: JvmInput, plan: typeof planPorts): Promise<Stack> {
  const { jdk, env, onProgress, dir } = input;
  const parts = await fetchParts({ dir: input.partsDir, jdk, env, signal: input.signal, onProgress });
  const java = join(jdk.home, 'bin/java');
  const classArchive = await kafkaClassArchive({ ...input, java, jars: parts.kafka, jdkMajor: jdk.major });
  const ports = await plan(input);
  mkdirSync(dir, { recursive: true });
  const runDir = mkdtempSync(join(dir, 'run-'));
  const supervisor = await startSupervisor(runDir);
  const failed = new AbortController();
  const signal = AbortSignal.any([input.signal, failed.signal]);
  const jvmArgs = input.shortLived ? FIRST_COMPILER : [];
  // To Apicurio 3.0 and older ones, NONE at a subject is the rule for all subjects: nothing could be moved over.
  const isStrict = !env.HOOKLINE_STACK_REGISTRY;
  const common = { supervisor, java, runDir, ports, signal, loopback: input.loopback };
  onProgress(`starting as JVM programs, on Java ${jdk.major}`);
  try {
    const [kafka, registry] = await Promise.all([
      startKafkaCluster({ ...common, ...input.kafka, jars: parts.kafka, classArchive, jvmArgs }),
      input.withRegistry ? startRegistry({ ...common, folder: parts.registry, isStrict }) : null,
    ]);
    const programs = [supervisor, ...kafka.nodes, ...(registry ? [registry] : [])];
    return stackOf({
      brokers: kafka.brokers,
      registryUrl: registry?.url ?? '',
      how: 'jvm',
      kafka,
      traces: { runDir, pids: programs.map(({ pid }) => pid) },
      stop: () => supervisor.end(),
      leave: () => supervisor.leave(),
    });
  } catch (error) {
    failed.abort();
    await supervisor.end();
    throw error;
  }
}
