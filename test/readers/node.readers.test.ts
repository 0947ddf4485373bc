import { join } from 'node:path';
import { describeReader } from './describe-reader.ts';
import { runReader } from './programs/run-program.ts';
import { KAFKAJS } from './readers.ts';

const READ = join(import.meta.dirname, 'node/read.ts');

describeReader(KAFKAJS, (place) => runReader({ command: process.execPath, args: [READ] }, place));
