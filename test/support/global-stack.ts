import type { TestProject } from 'vitest/node';
import { useStack } from './stack/use-stack.ts';

declare module 'vitest' {
  interface ProvidedContext {
    brokers: string[];
    registryUrl: string;
  }
}

/** One Kafka and one registry for all tests that `inject('brokers')`: the running ones, else ones that end with the run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const onProgress = (line: string) => console.log(`stack: ${line}`);
  const stack = await useStack({ env: process.env, onProgress });
  project.provide('brokers', stack.brokers);
  project.provide('registryUrl', stack.registryUrl);
  return () => stack.stop();
}
