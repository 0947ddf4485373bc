import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestProject } from 'vitest/node';
import type { RecordsPlace } from './fill-topics.ts';

declare module 'vitest' {
  interface ProvidedContext {
    recordsPlace: RecordsPlace;
  }
}

/** Fills the topics before the first reader starts, and ends Kafka, registry and object store after the last one. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const main = join(import.meta.dirname, 'main.ts');
  const child = spawn(process.execPath, ['--disable-warning=TimeoutNegativeWarning', main], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('{')) {
      console.log(`records: ${line}`);
      continue;
    }
    project.provide('recordsPlace', JSON.parse(line));
    return async () => {
      child.stdin.end();
      await closed;
    };
  }
  throw new Error(`The topics were not filled: exit code ${(await closed)[0]}.`);
}
