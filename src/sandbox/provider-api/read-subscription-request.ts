import type { Clock } from '../core/clock.ts';
import type { Dialect } from '../core/dialect.ts';
import { SandboxError } from '../core/errors.ts';
import { readEventNames } from '../core/event-names.ts';
import { isObject, type Json } from '../core/json.ts';
import { newSigningSecret, newSubscriptionId, type Subscription } from '../core/subscription-store.ts';
import { readEncryptionKey, readReceiverUrl } from '../core/subscription-values.ts';
import { readByTemplate } from './read-by-template.ts';

export type RequestRules = {
  readonly clock: Clock;
  readonly dialect: Dialect;
  readonly allowHttpReceivers: boolean;
};

/** The subscription that a creation's body asks for. */
export function readCreation(body: Json, rules: RequestRules): Subscription {
  const { values, extra } = readByTemplate(rules.dialect.create.body, body);
  return {
    id: newSubscriptionId(),
    signingSecret: newSigningSecret(),
    encryptionKey: readEncryptionKey(values.get('encryptionKey')),
    url: readReceiverUrl(values.get('url'), rules.allowHttpReceivers),
    events: readEventNames(values.get('events'), rules.dialect.eventNames),
    active: true,
    extra,
    createdAt: new Date(rules.clock.now()).toISOString(),
  };
}

/** What an update leaves out stays as it was. */
export function readUpdate(body: Json, known: Subscription, rules: RequestRules): Subscription {
  if (!isObject(body)) throw new SandboxError('invalid_request', 'The body must be a JSON object.');
  const { values, extra } = readByTemplate(rules.dialect.update.body, body);
  if (values.size === 0 && Object.keys(extra).length === 0) {
    throw new SandboxError('invalid_request', 'The body changes nothing.');
  }
  return {
    ...known,
    ...(values.has('url') ? { url: readReceiverUrl(values.get('url'), rules.allowHttpReceivers) } : {}),
    ...(values.has('events')
      ? { events: readEventNames(values.get('events'), rules.dialect.eventNames) }
      : {}),
    ...(values.has('encryptionKey') ? { encryptionKey: readEncryptionKey(values.get('encryptionKey')) } : {}),
    extra: Object.fromEntries([...Object.entries(known.extra), ...Object.entries(extra)]),
  };
}
