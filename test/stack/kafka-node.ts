import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { formatArgs, type ScramUser, serverArgs } from './kafka-jvm.ts';
import type { NodePlan } from './kafka-properties.ts';
import { lastLines, readLog, withLogTail } from './log-tail.ts';
import { sendSignal, waitFrozen } from './process-identity.ts';
import { kafkaAnswers } from './readiness.ts';
import { StackError } from './stack-error.ts';
import type { Supervised, Supervisor } from './supervise.ts';
import { type Waiting, waitUntil, withDeadline } from './wait-until.ts';

/** A broker that can be killed, frozen and started again, with its ports and data kept. */
export type KafkaNode = {
  readonly id: number;
  /** Where it listens, whatever clients are told. */
  readonly port: number;
  /** Of the process that runs now or ran last. */
  readonly pid: number;
  readonly logFile: string;
  isRunning(): boolean;
  /** Sends the signal, and waits until the process has ended, or is frozen by a SIGSTOP. A SIGCONT isn't waited for. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Starts it where it doesn't run, from now on with these jars of Kafka if any are given. It answers later: see `waitReady`. */
  start(jars?: string): Promise<void>;
};

export type OwnedNode = KafkaNode & {
  format(waiting: Waiting): Promise<void>;
  /** Waits until it answers and knows of that many nodes; fails at once when its process has ended. */
  waitReady(nodes: number, waiting: Waiting): Promise<void>;
};

export type NodeInput = {
  supervisor: Supervisor;
  java: string;
  classpath: string;
  plan: NodePlan;
  /** As in a URL; 127.0.0.1 unless given. */
  loopback?: string;
  folder: string;
  properties: string;
  heapMb?: number | undefined;
  /** Further arguments of the broker's JVM. */
  jvmArgs?: readonly string[] | undefined;
  /** Where its classes are at hand: see class-archive.ts. */
  classArchive?: string | null | undefined;
  scramUsers?: readonly ScramUser[] | undefined;
  /** Where the storage of nodes is kept as it was formatted, to be copied by the next one of the same kind. */
  formatted?: string | undefined;
};

/** Kafka waits for a quorum before it closes: longer where there is none any more. */
const END_MS = 60_000;

export function createKafkaNode({
  supervisor,
  java,
  classpath,
  plan,
  loopback = '127.0.0.1',
  folder,
  ...input
}: NodeInput): OwnedNode {
  const name = `Kafka node ${plan.id}`;
  const logFile = join(folder, 'kafka.log');
  const data = join(folder, 'data');
  const propertiesFile = join(folder, 'server.properties');
  const archiveArgs = input.classArchive ? [`-XX:SharedArchiveFile=${input.classArchive}`] : [];
  let jvm: Supervised | undefined;
  let classes = { classpath, archiveArgs };
  const isRunning = () => jvm !== undefined && jvm.exited() === null;

  return {
    id: plan.id,
    port: plan.port,
    logFile,
    isRunning,
    get pid() {
      return jvm?.pid ?? 0;
    },
    async format(waiting) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(propertiesFile, input.properties);
      const users = createHash('sha256').update(JSON.stringify(input.scramUsers ?? []));
      const kept = input.formatted && join(input.formatted, `${plan.id}-${users.digest('hex').slice(0, 16)}`);
      if (kept && existsSync(kept)) return cpSync(kept, data, { recursive: true });
      const formatLog = join(folder, 'format.log');
      const args = [...archiveArgs, ...formatArgs(classpath, propertiesFile, input.scramUsers)];
      const { exited } = await supervisor.run({ command: java, args, logFile: formatLog });
      await waitUntil(`${name} isn't formatted`, async () => exited() !== null || '', waiting);
      if (exited()?.code === 0) return void (kept && keepFormatted(data, kept));
      throw new StackError(`${name} can't be formatted:\n${lastLines(readLog(formatLog))}`);
    },
    async start(jars) {
      if (isRunning()) return;
      // The archive is of the classes that it had.
      if (jars !== undefined) classes = { classpath: join(jars, '*'), archiveArgs: [] };
      const args = [
        // Native libraries are unpacked there: beside the data, they go with the run.
        `-Djava.io.tmpdir=${folder}`,
        ...classes.archiveArgs,
        ...(input.jvmArgs ?? []),
        ...serverArgs(classes.classpath, propertiesFile, input.heapMb),
      ];
      jvm = await supervisor.run({ command: java, args, logFile });
    },
    async kill(signal) {
      if (jvm === undefined || !isRunning()) return;
      sendSignal(jvm.pid, signal);
      if (signal === 'SIGSTOP') return waitFrozen(jvm.pid);
      if (signal === 'SIGCONT') return;
      if (await withDeadline(jvm.exit, END_MS, null)) return;
      throw new StackError(`${name} still runs ${END_MS / 1000} s after a ${signal}.`);
    },
    async waitReady(nodes, waiting) {
      const check = () => {
        const exit = jvm?.exited();
        if (exit) throw new StackError(`${name} has ended with ${exit.signal ?? exit.code}.`);
        return kafkaAnswers(`${loopback}:${plan.internalPort}`, nodes);
      };
      await waitUntil(`${name} doesn't answer`, check, waiting).catch((error) => {
        throw withLogTail(error, name, readLog(logFile));
      });
    },
  };
}

/** Takes its place whole: another process may look for it, or keep its own in the same moment. */
function keepFormatted(data: string, kept: string): void {
  mkdirSync(dirname(kept), { recursive: true });
  const copy = `${kept}.${process.pid}`;
  cpSync(data, copy, { recursive: true });
  try {
    renameSync(copy, kept);
  } catch {
    rmSync(copy, { recursive: true });
  }
}
