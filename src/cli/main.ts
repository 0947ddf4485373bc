#!/usr/bin/env node

import { nodeSource } from '../config/env.ts';
import { routeWarnings } from '../runtime/process-shell.ts';
import { runCli } from './program.ts';
import { visible } from './shell/print-rows.ts';
import { describeError } from './shell/shell.ts';

const note = (line: string) => void process.stderr.write(`${line}\n`);
const fail = (error: unknown) => {
  note(visible(`hookline: ${describeError(error)}`));
  process.exit(1);
};

routeWarnings((warning) => note(visible(`${warning.name}: ${warning.message}`)));
process.on('uncaughtException', fail);
const controller = new AbortController();
// By default a second signal ends the process at once.
const interrupt = () => controller.abort(new Error('interrupted'));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupt);
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') fail(error);
    // The reader has ended, such as `head`: no failure, and nobody would read an error.
    controller.abort();
  });
}

const exitCode = await runCli(process.argv.slice(2), {
  source: nodeSource(process.env),
  print: (line) => process.stdout.write(`${line}\n`),
  write: (bytes) => new Promise((resolve) => process.stdout.write(bytes, () => resolve())),
  note,
  signal: controller.signal,
  columns: process.stdout.columns,
});
// A pipe takes 64 KiB at a time; an exit would drop the rest.
const written = (stream: NodeJS.WriteStream) => new Promise<void>((done) => stream.write('', () => done()));
await Promise.all([written(process.stdout), written(process.stderr)]);
process.exit(exitCode);
