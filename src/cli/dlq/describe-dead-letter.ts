import { ERRORS } from '../../core/errors.ts';
import { type DeadLetter, redrivesOf, stateOf } from '../../delivery/dead-letter/dead-letters.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../../delivery/dead-letter/store-dead-letter.ts';

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
