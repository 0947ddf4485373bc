import { createCipheriv, createHash, createHmac } from 'node:crypto';
import { type Subscription, subscriptionsOf } from '../../faults/traffic/webhooks.ts';

/**
 * - `event`: small and plain
 * - `large`: its message is above CLAIM_CHECK_BYTES, where that is set
 * - `sealed`: encrypted
 * - `unclassified`: of a type that no schema claims
 * - `malformed`: signed, and no JSON: it becomes a dead-letter record
 * - `tampered`: its signature is of another body
 */
export type WebhookKind = 'event' | 'large' | 'sealed' | 'unclassified' | 'malformed' | 'tampered';

/** A webhook to be sent: its number and its key decide its bytes. */
export type Webhook = {
  readonly number: number;
  readonly key: string;
  readonly kind: WebhookKind;
  /** As its message says it, unless that is malformed. */
  readonly type: string;
  readonly ref: string;
  readonly mediaType: 'json' | 'octet-stream';
  readonly body: Buffer;
  readonly signature: string;
  /** What the record must hold. */
  readonly message: Buffer;
  /** As docs/architecture.md promises it, computed here once more. */
  readonly eventId: string;
  readonly topic: string;
};

/** Eight entities. */
export const KEYS: readonly string[] = Array.from({ length: 8 }, (_, n) => `e-${n}`);

/** The same for all seeds: no fault depends on the keys. */
export const SUBSCRIPTIONS = subscriptionsOf(1);
const LARGE_BYTES = 3_000;
/** In every body that must be stored nowhere. */
export const TAMPERED = 'tampered-with';

/** Of earlier schedules: nothing of a webhook depends on the seed. */
const made = new Map<string, Webhook>();

/** The webhook with this number, key and kind: the same one each time. */
export function webhookOf(number: number, key: string, kind: WebhookKind): Webhook {
  const name = `${number} ${key} ${kind}`;
  let webhook = made.get(name);
  if (!webhook) {
    webhook = makeWebhook(number, key, kind);
    made.set(name, webhook);
  }
  return webhook;
}

function makeWebhook(number: number, key: string, kind: WebhookKind): Webhook {
  const subscription = SUBSCRIPTIONS[kind === 'sealed' ? 2 : number % 2] as Subscription;
  const { ref, subscriptionId } = subscription;
  const message = Buffer.from(messageOf(number, key, kind));
  const body = kind === 'sealed' ? seal(subscription, message, number) : message;
  const signature = createHmac('sha256', subscriptionId + subscription.signingSecret)
    .update(kind === 'tampered' ? 'another body' : body)
    .digest('hex');
  const mediaType = kind === 'sealed' ? 'octet-stream' : 'json';
  const eventId = eventIdOf(subscriptionId, message);
  const topic = topicOf(kind, key);
  return {
    number,
    key,
    kind,
    type: typeOf(kind, key),
    ref,
    mediaType,
    body,
    signature,
    message,
    eventId,
    topic,
  };
}

/** Events of a key are all of one topic: only there they have an order. */
function topicOf(kind: WebhookKind, key: string): string {
  if (kind === 'malformed') return 'payments.dead-letter';
  if (kind === 'unclassified') return 'payments.unclassified';
  return isEntry(key) ? 'payments.accounts-entries' : 'payments.payment-status';
}

const isEntry = (key: string) => Number(key.slice(2)) % 4 === 3;

function typeOf(kind: WebhookKind, key: string): string {
  if (kind === 'unclassified') return 'weather-report';
  return isEntry(key) ? 'accounts-entries' : 'payment-status';
}

function messageOf(number: number, key: string, kind: WebhookKind): string {
  if (kind === 'malformed') return `{"n":${number},"entityId":"${key}", this is no JSON`;
  const note = kind === 'tampered' ? TAMPERED : 'Überweisung 1.50';
  const padding = kind === 'large' ? 'x'.repeat(LARGE_BYTES + (number % 7)) : '';
  return `{"type":"${typeOf(kind, key)}","n":${number},"entityId":"${key}","payload":{"status":"ACSC","note":"${note}","padding":"${padding}"}}`;
}

function seal({ encryptionKey }: Subscription, message: Buffer, number: number): Buffer {
  const iv = Buffer.alloc(12, number);
  const cipher = createCipheriv('aes-256-gcm', encryptionKey, iv, { authTagLength: 16 });
  return Buffer.concat([iv, cipher.update(message), cipher.final(), cipher.getAuthTag()]);
}

function eventIdOf(subscriptionId: string, message: Buffer): string {
  const digest = createHash('sha256').update(subscriptionId).update(message).digest('hex');
  const variant = ((Number.parseInt(digest.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-${variant}${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}
