import { writeFile } from 'node:fs/promises';
import { ERRORS } from '../../core/errors.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../delivery/dead-letter/dead-letter-headers.ts';
import { oneLine, readableBody } from '../shell/print-rows.ts';
import type { ExitCode, Shell } from '../shell/shell.ts';
import type { DeadLetterTopic } from './dead-letter-topic.ts';
import { type DeadLetter, redrivesOf, stateOf } from './dead-letters.ts';

/** What `list` and `show` print of a dead-letter record. Of its body only the size. */
export function describeDeadLetter(deadLetter: DeadLetter) {
  const { headers, missing, redriven } = deadLetter;
  return {
    at: deadLetter.at,
    time: new Date(deadLetter.time).toISOString(),
    stage: headers[NAMES.stage] ?? null,
    code: headers[NAMES.code] ?? null,
    ref: headers[NAMES.ref] ?? null,
    eventId: headers[NAMES.eventId] ?? null,
    topic: headers[NAMES.topic] ?? null,
    bytes: deadLetter.bytes,
    parts: deadLetter.parts,
    missing,
    state: stateOf(deadLetter),
    redriven: redriven && { at: new Date(redriven.at).toISOString(), to: redriven.to },
    redrives: redrivesOf(deadLetter),
  };
}

/** One row of a table. */
export function deadLetterRow(deadLetter: DeadLetter) {
  const { at, time, stage, code, ref, eventId, bytes, parts, missing, state } =
    describeDeadLetter(deadLetter);
  return {
    at,
    time: time.replace(/\.\d+Z$/, 'Z'),
    stage,
    code,
    ref,
    eventId,
    bytes: parts > 1 ? `${bytes} in ${parts - missing.length} parts` : bytes,
    state: missing.length > 0 ? `incomplete: ${missingText(deadLetter)}` : state,
  };
}

const SHOWN_PARTS = 10;

/** A redrive would publish bytes that the provider may not have sent. */
export const SPOOL_REMEDY =
  'it is not redriven: find out who can write to the volume of the spool, and have the provider replay the run (webhook.replay)';

/** Such as "parts 2, 3 of 5 missing". */
export function missingText({ missing, parts, positions }: DeadLetter): string {
  const named = missing.slice(0, SHOWN_PARTS).join(', ');
  const others = parts - positions.length - SHOWN_PARTS;
  const more = others > 0 ? ` and ${others} more` : '';
  return `part${missing.length > 1 ? 's' : ''} ${named}${more} of ${parts} missing`;
}

/** Why it was dead-lettered, and what to do about it. */
export function causeOf(deadLetter: DeadLetter): { readonly cause: string; readonly remedy: string } {
  const { headers } = deadLetter;
  const code = headers[NAMES.code] ?? '';
  const known = Object.hasOwn(ERRORS, code) ? ERRORS[code as keyof typeof ERRORS].text : undefined;
  return {
    cause: headers[NAMES.message] ?? known ?? 'unknown: its headers do not name one',
    remedy: remedyOf(deadLetter),
  };
}

function remedyOf(deadLetter: DeadLetter): string {
  const { headers } = deadLetter;
  if (stateOf(deadLetter) === 'incomplete') {
    return `${missingText(deadLetter)}: they were never stored, or retention deleted them; have the provider replay the run (webhook.replay)`;
  }
  switch (headers[NAMES.stage]) {
    case 'DECRYPT':
      return `add the key to SECRETS_DIR/${headers[NAMES.ref]}/encryption-key, or correct ENCRYPTION_LAYOUT; then redrive it`;
    case 'PARSE':
      return 'the body is not JSON: if it is encrypted, add its encryption key or correct ENCRYPTION_LAYOUT, then redrive it; otherwise ask the provider';
    case 'ENCODE':
      return 'correct the schema file of its type and push it (hookline schemas push), then redrive it';
    case 'PRODUCE':
      return `raise max.message.bytes of ${headers[NAMES.topic] ?? 'its topic'}, then redrive it`;
    case 'SPOOL':
      return SPOOL_REMEDY;
    case 'COMMAND':
      return headers[NAMES.commandId] === undefined
        ? `if the registry did not have its schema and has it now, redrive it (--filter at=${deadLetter.at}); otherwise send a corrected command`
        : 'its result is REJECTED: send a corrected command with a new commandId';
    default:
      return 'Hookline did not write this record: see its headers';
  }
}

/** @param options.body undefined: it is not printed, as it can hold payment data */
export function showDeadLetter(
  shell: Shell,
  deadLetter: DeadLetter,
  { json, body }: { readonly json: boolean; readonly body: Buffer | undefined },
): ExitCode {
  const { missing, redriven, ...about } = describeDeadLetter(deadLetter);
  const shown = {
    ...about,
    missing,
    redriven,
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
    await writeFile(file, body, { mode: 0o600, flag: 'wx' });
    shell.note(`${body.length} bytes written to ${file}`);
  }
  return 0;
}
