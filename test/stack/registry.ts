import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readLog, withLogTail } from './log-tail.ts';
import type { Ports } from './plan-ports.ts';
import { bracketed } from './reach-brokers.ts';
import { enforceCompatibility, registryAnswers } from './readiness.ts';
import { StackError } from './stack-error.ts';
import type { Supervisor } from './supervise.ts';
import { waitUntil } from './wait-until.ts';

export const CONFLUENT_API = '/apis/ccompat/v7';

export type RegistryInput = {
  supervisor: Supervisor;
  java: string;
  /** The folder that the registry was unpacked into. */
  folder: string;
  runDir: string;
  ports: Ports;
  loopback?: string | undefined;
  /** Whether it has a rule for all subjects. */
  isStrict: boolean;
  signal: AbortSignal;
};

/** On a machine that others saturate a JVM starts ten times slower. */
const READY_MS = 180_000;

/** Starts Apicurio Registry, which keeps everything in memory. `url` is its Confluent API. */
export async function startRegistry(input: RegistryInput): Promise<{ url: string; pid: number }> {
  const { supervisor, java, ports, signal, loopback = '127.0.0.1' } = input;
  const folder = join(input.runDir, 'registry');
  const logFile = join(folder, 'registry.log');
  mkdirSync(folder, { recursive: true });
  const args = [
    '-Xmx256m',
    '-XX:+UseSerialGC',
    // It starts in two thirds of the time with the first compiler alone, and is never under load here.
    '-XX:TieredStopAtLevel=1',
    // What it unpacks goes with the run. It is also what `down` knows the process by.
    `-Djava.io.tmpdir=${folder}`,
    `-Dquarkus.http.host=${loopback}`,
    `-Dquarkus.http.port=${ports.registry}`,
    // On 9000 of every interface otherwise, where a second registry clashes with the first.
    `-Dquarkus.management.host=${loopback}`,
    `-Dquarkus.management.port=${ports.management}`,
    ...['-jar', mainJar(input.folder)],
  ];
  const registry = await supervisor.run({ command: java, args, logFile });
  const url = `http://${bracketed(loopback)}:${ports.registry}${CONFLUENT_API}`;
  const check = () => {
    if (registry.exited()) throw new StackError('The schema registry has ended.');
    return registryAnswers(url);
  };
  await waitUntil("The schema registry doesn't answer", check, { deadlineMs: READY_MS, signal }).catch(
    (error) => {
      throw withLogTail(error, 'the registry', readLog(logFile));
    },
  );
  if (input.isStrict) await enforceCompatibility(url);
  return { url, pid: registry.pid };
}

/** Versions since 3.1.5 bring Quarkus' usual layout, those before a jar that is named after itself. */
function mainJar(folder: string): string {
  const usual = join(folder, 'quarkus-run.jar');
  if (existsSync(usual)) return usual;
  const runner = readdirSync(folder).find((entry) => entry.endsWith('-runner.jar'));
  if (runner === undefined) throw new StackError(`There is no registry to run in ${folder}.`);
  return join(folder, runner);
}
