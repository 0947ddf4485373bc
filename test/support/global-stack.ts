import type { TestProject } from 'vitest/node';
import { LOCAL_DIR } from '../stack/start-stack.ts';
import { useStack } from '../stack/use-stack.ts';
import { callJudges } from './judges/judges.ts';
import type { Brokers } from './topics-fixture.ts';

declare module 'vitest' {
  interface ProvidedContext {
    brokers: string[];
    registryUrl: string;
    /** Both. */
    stack: Brokers;
  }
}

/** The judges' programs, and one Kafka and one registry for all tests that `inject` them: the running ones, else ones that end with the run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const onProgress = (line: string) => console.log(`stack: ${line}`);
  const [stack] = await Promise.all([
    useStack({ env: process.env, shortLived: true, onProgress }),
    callJudges(process.env, LOCAL_DIR),
  ]);
  project.provide('brokers', stack.brokers);
  project.provide('registryUrl', stack.registryUrl);
  project.provide('stack', { brokers: stack.brokers, registryUrl: stack.registryUrl });
  return () => stack.stop();
}
