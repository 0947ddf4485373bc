import { defineConfig } from 'vitest/config';

/** Tests that need a real Kafka and registry: the flows, and files named *.stack.test.ts beside the units they test. */
const NEEDS_STACK = ['test/flows/**/*.test.ts', 'test/**/*.stack.test.ts', 'test/support/stack/*.test.ts'];

/** As Node does it: what a CommonJS package exports is not unwrapped. */
const deps = { interopDefault: false };

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: NEEDS_STACK,
          deps,
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'stack',
          include: NEEDS_STACK,
          globalSetup: ['test/support/global-stack.ts'],
          deps,
          testTimeout: 60_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
        },
      },
    ],
  },
});
