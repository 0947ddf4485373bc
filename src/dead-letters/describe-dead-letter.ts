import { ERRORS } from '../core/errors.ts';
import { isoOf } from '../core/instant.ts';
import { DEAD_LETTER_HEADERS as NAMES } from '../delivery/dead-letter/dead-letter-headers.ts';
import { type DeadLetter, redrivesOf, stateOf } from './dead-letters.ts';

/** What `list` and `show` print of a dead-letter record. Of its body only the size. */
export function describeDeadLetter(deadLetter: DeadLetter) {
  const { headers, missing, redriven, dismissed } = deadLetter;
  return {
    at: deadLetter.at,
    time: isoOf(deadLetter.time),
    stage: headers[NAMES.stage] ?? null,
    code: headers[NAMES.code] ?? null,
    ref: headers[NAMES.ref] ?? null,
    eventId: headers[NAMES.eventId] ?? null,
    topic: headers[NAMES.topic] ?? null,
    bytes: deadLetter.bytes,
    parts: deadLetter.parts,
    missing,
    state: stateOf(deadLetter),
    redriven: redriven && { ...redriven, at: isoOf(redriven.at) },
    dismissed: dismissed && { ...dismissed, at: isoOf(dismissed.at) },
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
    state: state === 'incomplete' ? `incomplete: ${missingText(deadLetter)}` : state,
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
      return 'the body is not a JSON object: if it is encrypted, add its encryption key or correct ENCRYPTION_LAYOUT, then redrive it; otherwise, as where it is a list, ask the provider';
    case 'ENCODE':
      return encodeRemedy(deadLetter);
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

const CORRECT_SCHEMA = 'correct the schema file of its type and push it (hookline schemas push)';

/** Without BODY_STORE a body that is in the object store cannot be read. */
function encodeRemedy({ headers, object, at }: DeadLetter): string {
  if (headers[NAMES.code] === 'NOT_A_PROBE')
    return 'a redrive would end the same: find out who signed it with the keys in SECRETS_DIR/hookline-probe, then dismiss it';
  return object === null
    ? `${CORRECT_SCHEMA}, or set BODY_STORE if it is not set, then redrive it; where type or entityId is too long, redrive it without BODY_STORE`
    : `${CORRECT_SCHEMA}, then redrive it; where type or entityId is too long, a redrive would end the same: keep its body (hookline dlq show ${at} --body FILE), then dismiss it`;
}
