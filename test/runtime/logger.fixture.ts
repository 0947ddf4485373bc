/**
 * A log of so many lines as the second argument says while standard output takes none, and of one more into the file of the first; before
 * that of one with a text of so many characters as the third says.
 */
import { closeSync, openSync } from 'node:fs';
import { createLogger } from '../../src/runtime/logger.ts';

const [file = '', lines = '', characters] = process.argv.slice(2);
const logger = createLogger({ name: 'fixture', level: 'info' });

function outputTo(path: string): void {
  closeSync(1);
  if (openSync(path, 'a') !== 1) throw new Error(`${path} is not standard output`);
}

outputTo('/dev/full');
for (let n = 0; n < Number(lines); n++) logger.info({ n }, 'while the disk is full');
outputTo(file);
if (characters !== undefined) logger.info({ text: 'x'.repeat(Number(characters)) }, 'long');
logger.info('afterwards');
