/** The emulated provider, for tests and demonstrations. config.ts has its settings, test-api/ the API that drives it. */

import { readFileSync } from 'node:fs';
import { nodeSource } from '../config/env.ts';
import { createLogger } from '../runtime/logger.ts';
import { configOrExit, runProcess } from '../runtime/process-shell.ts';
import { loadOptions, sandboxSettings } from './config.ts';
import { startSandbox } from './start-sandbox.ts';

const options = configOrExit(() =>
  loadOptions(nodeSource(process.env), (path) => readFileSync(path, 'utf8')),
);
const logger = createLogger({ name: 'sandbox', level: options.logLevel });

await runProcess({
  logger,
  groups: { sandbox: sandboxSettings },
  config: {},
  env: process.env,
  stopDeadlineMs: options.stopDeadlineMs,
  start: async (components) => {
    const sandbox = components.add('sandbox', await startSandbox({ ...options, logger }));
    logger.info({ url: sandbox.url }, 'listening');
  },
});
