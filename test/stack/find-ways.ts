import type { Finding, Findings } from './choose-way.ts';
import { findDocker } from './docker-engine.ts';
import { findJdks, type Jdk, newestOf } from './find-jdk.ts';
import { areDownloaded, namesVersions, OLDEST_JAVA } from './kafka-parts.ts';
import { findNamed } from './named-stack.ts';
import { onPath } from './on-path.ts';
import type { Env, StackOptions } from './stack.ts';
import { StackError } from './stack-error.ts';

const NOT_LOOKED_FOR: Finding = { open: false, missing: 'It was not looked for.' };

export type Found = { findings: Findings; jdk: Jdk | null };

/** Looks which ways are open, and no further than it must: a named stack or a wanted way makes the others unneeded. */
export async function findWays(options: StackOptions, partsDir: string): Promise<Found> {
  const { env } = options;
  const wanted = options.way ?? wantedBy(env);
  const environment = wanted ? NOT_LOOKED_FOR : findNamed(env, options.withRegistry ?? true);
  if (environment.open) {
    return { findings: { environment, docker: NOT_LOOKED_FOR, jvm: NOT_LOOKED_FOR }, jdk: null };
  }
  const [docker, jdks] = await Promise.all([
    wanted === 'jvm' ? NOT_LOOKED_FOR : findDocker(),
    wanted === 'docker' ? [] : findJdks(env),
  ]);
  const jdk = newestOf(jdks);
  return { findings: { wanted, environment, docker, jvm: canRunJvms(jdk, env, partsDir) }, jdk };
}

function canRunJvms(jdk: Jdk | null, env: Env, partsDir: string): Finding {
  const faults: string[] = [];
  if (jdk === null) faults.push('There is no Java under JAVA_HOME, on the PATH or in the usual folders.');
  else if (jdk.major < OLDEST_JAVA)
    faults.push(`The newest Java is ${jdk.major}, ${OLDEST_JAVA} is the oldest that will do.`);
  else if (areDownloaded(partsDir, jdk, env)) return { open: true };
  if (onPath('mvn', env) === null) faults.push('Maven (mvn) is not on the PATH.');
  return faults.length === 0 ? { open: true } : { open: false, missing: faults.join(' ') };
}

function wantedBy(env: Env): 'docker' | 'jvm' | undefined {
  const wanted = env.HOOKLINE_STACK?.trim() || undefined;
  // Maven alone brings other versions.
  if (namesVersions(env) && wanted === 'docker')
    throw new StackError('HOOKLINE_STACK is "docker", but other versions run as JVM programs: unset it.');
  if (namesVersions(env) && wanted === undefined) return 'jvm';
  if (wanted === undefined || wanted === 'docker' || wanted === 'jvm') return wanted;
  throw new StackError(`HOOKLINE_STACK is "${wanted}": it can be docker or jvm.`);
}
