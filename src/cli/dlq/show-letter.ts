import { writeFile } from 'node:fs/promises';
import type { DeadLetter } from '../../delivery/dead-letter/dead-letters.ts';
import { oneLine } from '../shell/print-rows.ts';
import type { ExitCode, Shell } from '../shell/shell.ts';
import type { Letters } from './dead-letter-topic.ts';
import { causeOf, describeLetter, missingText } from './describe-dead-letter.ts';

/** What a letter says about itself. Its body stays where it is: even a plain one is a payment's. */
export function showLetter(shell: Shell, letter: DeadLetter, json: boolean): ExitCode {
  const { missing, redriven, ...about } = describeLetter(letter);
  const told = { ...about, missing, redriven, ...causeOf(letter), key: letter.key, headers: letter.headers };
  if (json) {
    shell.print(JSON.stringify(told, null, 2));
    return 0;
  }
  const lines: [string, unknown][] = [
    ...Object.entries(about),
    ['missing', missing.length > 0 ? missingText(letter) : null],
    ['redriven', redriven && `${redriven.at} to ${redriven.to}`],
    ['cause', told.cause],
    ['mend', told.mend],
    ['key', letter.key],
  ];
  for (const [name, value] of lines) if (value !== null) shell.print(oneLine(`${name.padEnd(10)}${value}`));
  shell.print('headers');
  for (const [name, value] of Object.entries(letter.headers)) shell.print(oneLine(`  ${name}: ${value}`));
  return 0;
}

/** The original bytes of a letter: what was sealed stays sealed. A file is new, and its owner's alone to read. */
export async function showBody(
  shell: Shell,
  letter: DeadLetter,
  letters: Letters,
  file: string | undefined,
): Promise<ExitCode> {
  if (letter.missing.length > 0) throw new Error(`${letter.at} is not whole: ${missingText(letter)}`);
  const body = (await letters.bodiesOf([letter])).get(letter.at);
  if (!body) throw new Error(`retention took ${letter.at} meanwhile`);
  if (file === undefined) await shell.write(body);
  else {
    await writeFile(file, body, { mode: 0o600, flag: 'wx' });
    shell.note(`${body.length} bytes written to ${file}`);
  }
  return 0;
}
