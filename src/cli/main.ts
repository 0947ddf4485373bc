#!/usr/bin/env node
import { nodeSource } from '../runtime/node-source.ts';
import { routeWarnings } from '../runtime/route-warnings.ts';
import { runCli } from './program.ts';

routeWarnings((warning) => process.stderr.write(`${warning.name}: ${warning.message}\n`));
const controller = new AbortController();
process.once('SIGINT', () => controller.abort());

const exitCode = await runCli(process.argv.slice(2), {
  source: nodeSource(process.env),
  print: (line) => process.stdout.write(`${line}\n`),
  write: (bytes) => new Promise((resolve) => process.stdout.write(bytes, () => resolve())),
  note: (line) => process.stderr.write(`${line}\n`),
  signal: controller.signal,
});
process.exit(exitCode);
