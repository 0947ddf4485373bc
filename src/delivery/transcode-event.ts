import { isUtf8 } from 'node:buffer';
import { isJson, NotJson } from '../avro/transcode/json-scanner.ts';
import type { FoundMessage } from '../avro/transcode/transcoder.ts';
import type { OpenedMessage } from '../core/delivery.ts';
import { HooklineError } from '../core/errors.ts';
import { eventIdOf } from '../crypto/event-id.ts';
import type { OutgoingRecord } from '../kafka/publisher.ts';
import type { DeliveryParts } from './delivery-parts.ts';
import { eventRecord } from './event-record.ts';
import type { EventRoute, EventRoutes } from './event-routes.ts';

/**
 * What readMessage and encodeEvent make of a message, from its bytes: a large one is never held as objects.
 * @throws HooklineError UNPARSABLE
 */
export function transcodeEvent(
  opened: OpenedMessage,
  { routes, observer }: Pick<DeliveryParts, 'routes' | 'observer'>,
): { readonly eventId: string; readonly record: () => OutgoingRecord } {
  const { message, ref, receivedAt, subscriptionId } = opened;
  const { route, found } = parsing(message, () => findRouted(message, routes));
  const eventId = eventIdOf(subscriptionId, message);
  const record = () => {
    if (!route.classified) observer.unclassified();
    const value = found.write({ eventId, subscription: ref, receivedAt }, route.schemaId, (field) =>
      observer.drift(route.topic, field),
    );
    return eventRecord(opened, route, { eventId, type: found.type, entityId: found.entityId }, value);
  };
  return { eventId, record };
}

/** The event id of a large message. @throws HooklineError UNPARSABLE */
export function largeEventId({ message, subscriptionId }: OpenedMessage): string {
  parsing(message, () => {
    if (!isJson(message)) throw new NotJson();
  });
  return eventIdOf(subscriptionId, message);
}

/** Its type stands in it: mostly where a look at its beginning finds it, else it is walked over once more. */
function findRouted(
  message: Buffer,
  routes: EventRoutes,
): { readonly route: EventRoute; readonly found: FoundMessage } {
  const guess = /^\s*\{\s*"type"\s*:\s*"([^"\\]*)"/.exec(message.toString('latin1', 0, 256))?.[1];
  const guessed = routes.of(guess);
  const found = guessed.schema.transcoder.find(message);
  const route = routes.of(found.rawType);
  return { route, found: route === guessed ? found : route.schema.transcoder.find(message) };
}

function parsing<T>(message: Buffer, work: () => T): T {
  // What is no UTF-8 would be another text than what was signed.
  if (!isUtf8(message)) throw new HooklineError('UNPARSABLE');
  try {
    return work();
  } catch (error) {
    if (error instanceof NotJson) throw new HooklineError('UNPARSABLE');
    throw error;
  }
}
