import { writeFile } from 'node:fs/promises';
import { ERRORS } from '../../core/errors.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../delivery/dead-letter/store-dead-letter.ts';
import { oneLine } from '../shell/print-rows.ts';
import type { ExitCode, Shell } from '../shell/shell.ts';
import type { Letters } from './dead-letter-topic.ts';
import { type DeadLetter, redrivesOf, stateOf } from './dead-letters.ts';

/** All that is told of a dead letter: where it is, what and why; nothing of its body but the size. */
export function describeLetter(letter: DeadLetter) {
  const { headers, missing, redriven } = letter;
  return {
    at: letter.at,
    time: new Date(letter.time).toISOString(),
    stage: headers[NAMES.stage] ?? null,
    code: headers[NAMES.code] ?? null,
    ref: headers[NAMES.ref] ?? null,
    eventId: headers[NAMES.eventId] ?? null,
    topic: headers[NAMES.topic] ?? null,
    bytes: letter.bytes,
    parts: letter.parts,
    missing,
    state: stateOf(letter),
    redriven: redriven && { at: new Date(redriven.at).toISOString(), to: redriven.to },
    redrives: redrivesOf(letter),
  };
}

/** The same for a line of a table. */
export function letterRow(letter: DeadLetter) {
  const { at, time, stage, code, ref, eventId, bytes, parts, missing, state } = describeLetter(letter);
  return {
    at,
    time: time.replace(/\.\d+Z$/, 'Z'),
    stage,
    code,
    ref,
    eventId,
    bytes: parts > 1 ? `${bytes} in ${parts - missing.length} parts` : bytes,
    state: missing.length > 0 ? `incomplete: ${missingText(letter)}` : state,
  };
}

const SHOWN_PARTS = 10;

/** A redrive would publish bytes that somebody else may have written. */
export const SPOOL_REMEDY =
  'it is not redriven: find out who can write to the volume of the spool, and have the payment provider replay the run (webhook.replay)';

/** Which parts are missing, in words. */
export function missingText({ missing, parts, places }: DeadLetter): string {
  const named = missing.slice(0, SHOWN_PARTS).join(', ');
  const others = parts - places.length - SHOWN_PARTS;
  const more = others > 0 ? ` and ${others} more` : '';
  return `part${missing.length > 1 ? 's' : ''} ${named}${more} of ${parts} missing`;
}

/** Why the letter is one, and what to do about it, in words. */
export function causeOf(letter: DeadLetter): { readonly cause: string; readonly mend: string } {
  const { headers } = letter;
  const code = headers[NAMES.code] ?? '';
  const known = Object.hasOwn(ERRORS, code) ? ERRORS[code as keyof typeof ERRORS].text : undefined;
  return { cause: headers[NAMES.message] ?? known ?? 'its headers do not say', mend: mendOf(letter) };
}

function mendOf(letter: DeadLetter): string {
  const { headers } = letter;
  if (stateOf(letter) === 'incomplete') {
    return `${missingText(letter)}: they were never stored, or retention took them; have the payment service replay the run`;
  }
  switch (headers[NAMES.stage]) {
    case 'DECRYPT':
      return `add the key to SECRETS_DIR/${headers[NAMES.ref]}/encryption-key, or correct ENCRYPTION_LAYOUT; then redrive it`;
    case 'PARSE':
      return 'the body is not JSON: where it is sealed, add its encryption key or correct ENCRYPTION_LAYOUT, then redrive it; otherwise ask the payment provider';
    case 'ENCODE':
      return 'correct the schema file of its type and push it (hookline schemas push), then redrive it';
    case 'PRODUCE':
      return `raise max.message.bytes of ${headers[NAMES.topic] ?? 'its topic'}, then redrive it`;
    case 'SPOOL':
      return SPOOL_REMEDY;
    case 'COMMAND':
      return headers[NAMES.commandId] === undefined
        ? `where the registry did not have its schema and has it now, redrive it (--filter at=${letter.at}); else send a corrected command`
        : 'it has its result, REJECTED: send a corrected command with a new commandId';
    default:
      return 'it was not written by Hookline: look at its headers';
  }
}

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
