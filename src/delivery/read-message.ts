import { isUtf8 } from 'node:buffer';
import type { OpenedMessage, ReadMessage } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import { eventIdOf } from '../crypto/event-id.ts';

/**
 * The message as JSON. Its text is kept exactly: numbers beyond double precision and the order of members too.
 * @throws HooklineError UNPARSABLE: other bytes than UTF-8, a byte order mark, or no JSON
 */
export function readMessage(opened: OpenedMessage): ReadMessage {
  // Decoding would replace what is no UTF-8, and source would no longer be what was signed.
  if (!isUtf8(opened.message)) throw new HooklineError('UNPARSABLE');
  const text = opened.message.toString('utf8');
  return { ...opened, text, json: parse(text), eventId: eventIdOf(opened.subscriptionId, opened.message) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser quotes the message in its error: it must not reach a log or a header.
    throw new HooklineError('UNPARSABLE');
  }
}
