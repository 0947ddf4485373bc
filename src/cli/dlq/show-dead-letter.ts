import { writeFile } from 'node:fs/promises';
import type { DeadLetterTopic } from '../../dead-letters/dead-letter-topic.ts';
import type { DeadLetter } from '../../dead-letters/dead-letters.ts';
import { causeOf, describeDeadLetter, missingText } from '../../dead-letters/describe-dead-letter.ts';
import { oneLine, readableBody } from '../shell/print-rows.ts';
import type { ExitCode, Shell } from '../shell/shell.ts';

/** @param options.body undefined: it is not printed, as it can hold payment data */
export function showDeadLetter(
  shell: Shell,
  deadLetter: DeadLetter,
  { json, body }: { readonly json: boolean; readonly body: Buffer | undefined },
): ExitCode {
  const { missing, redriven, dismissed, ...about } = describeDeadLetter(deadLetter);
  const shown = {
    ...about,
    missing,
    redriven,
    dismissed,
    ...causeOf(deadLetter),
    key: deadLetter.key,
    headers: deadLetter.headers,
    ...(body && { body: readableBody(body) }),
  };
  if (json) {
    shell.print(JSON.stringify(shown, null, 2));
    return 0;
  }
  const lines: [string, unknown][] = [
    ...Object.entries(about),
    ['missing', missing.length > 0 ? missingText(deadLetter) : null],
    ['redriven', redriven && `${redriven.at} to ${redriven.to}`],
    ['dismissed', dismissed && `${dismissed.at} by ${dismissed.by}: ${dismissed.reason}`],
    ['cause', shown.cause],
    ['remedy', shown.remedy],
    ['key', deadLetter.key],
    ['body', body ? null : `hidden (${about.bytes} bytes): --reveal shows it`],
  ];
  for (const [name, value] of lines) if (value !== null) shell.print(oneLine(`${name.padEnd(10)}${value}`));
  shell.print('headers');
  for (const [name, value] of Object.entries(deadLetter.headers)) shell.print(oneLine(`  ${name}: ${value}`));
  if (body) shell.print(`body\n${JSON.stringify(readableBody(body), null, 2)}`);
  return 0;
}

/** The original bytes. @throws Error where a part is missing, or where they cannot be fetched or opened */
export async function bodyOf(deadLetter: DeadLetter, topic: DeadLetterTopic): Promise<Buffer> {
  if (deadLetter.missing.length > 0)
    throw new Error(`${deadLetter.at} is incomplete: ${missingText(deadLetter)}`);
  const body = (await topic.bodiesOf([deadLetter])).get(deadLetter.at);
  if (!Buffer.isBuffer(body)) throw new Error(`${deadLetter.at}: ${body?.message}`);
  return body;
}

/** A container's file system is mostly read-only: the shell outside it has files. */
function notWritten(file: string, { code, message }: NodeJS.ErrnoException): string {
  if (code === 'EEXIST') return `${file} exists: give the name of a new file`;
  return `${file} cannot be written (${message}): give a folder that can be written, or write to standard output with --body > FILE`;
}

/** Writes the original bytes; encrypted ones stay encrypted. The file must not exist, and only its owner can read it. */
export async function showBody(
  shell: Shell,
  deadLetter: DeadLetter,
  topic: DeadLetterTopic,
  file: string | undefined,
): Promise<ExitCode> {
  const body = await bodyOf(deadLetter, topic);
  if (file === undefined) await shell.write(body);
  else {
    await writeFile(file, body, { mode: 0o600, flag: 'wx' }).catch((cause) => {
      throw new Error(notWritten(file, cause), { cause });
    });
    shell.note(`${body.length} bytes written to ${file}`);
  }
  return 0;
}
