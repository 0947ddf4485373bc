import { createCipheriv, createHash, createHmac } from 'node:crypto';
import { createRandom } from '../random.ts';

/** A subscription as the provider knows it. */
export type Subscription = {
  readonly ref: string;
  readonly subscriptionId: string;
  readonly signingSecret: string;
  readonly encryptionKey: string;
  /** Its bodies are sealed: AES-256-GCM, iv12.ciphertext.tag16, as octet-stream. */
  readonly sealed: boolean;
};

export type Request = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
};

export const EVENT_TYPES = ['payment-status', 'accounts-entries'] as const;

/** Three refs, one of them sealed. The seed makes their keys, so that a worker needs no more than the seed. */
export function subscriptionsOf(seed: number): Subscription[] {
  return ['ledger-eu', 'ledger-uk', 'treasury'].map((ref, n) => {
    const random = createRandom(seed, `keys/${ref}`);
    const hex = (length: number) => Array.from({ length }, () => random.between(0, 15).toString(16)).join('');
    const uuid = () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
    return { ref, subscriptionId: uuid(), signingSecret: uuid(), encryptionKey: hex(32), sealed: n === 2 };
  });
}

/**
 * The webhooks of a run. An event is named by its entity and its number; everything about it follows from the two and
 * the seed, so that whoever reads Kafka knows to the byte what should stand there.
 */
export class Webhooks {
  readonly #subscriptions: readonly Subscription[];

  constructor(seed: number) {
    this.#subscriptions = subscriptionsOf(seed);
  }

  subscriptionOf(entity: number): Subscription {
    return this.#subscriptions[entity % this.#subscriptions.length] as Subscription;
  }

  /** The message as the service means it: what `source` has to be. Spaces, an escape and 1.50 show who re-serialises. */
  messageOf(entity: number, number: number): string {
    const type = EVENT_TYPES[entity % 4 === 3 ? 1 : 0];
    const uetr = `${hex(entity, 8)}-${hex(number, 4)}-4000-a000-000000000000`;
    return `{"n":${number},"entityId":"e-${entity}","type":"${type}", "payload":{"status":"ACSC","note":"Überweisung \\u20ac 1.50","amount":1.50,"pacs002":{"FIToFIPmtStsRpt":{"GrpHdr":{"MsgId":"M-${entity}-${number}","CreDtTm":"2026-03-01T12:00:00Z"},"TxInfAndSts":[{"OrgnlGrpInf":{"OrgnlMsgId":"O-${number}","OrgnlMsgNmId":"pacs.008"},"OrgnlInstrId":"I-${number}","OrgnlUETR":"${uetr}","TxSts":"ACSC","InstgAgt":{"FinInstnId":{"BICFI":"AAAADEFFXXX"}},"InstdAgt":{"FinInstnId":{"BICFI":"BBBBFRPPXXX"}}}]}}}}`;
  }

  requestFor(entity: number, number: number): Request {
    const subscription = this.subscriptionOf(entity);
    const message = Buffer.from(this.messageOf(entity, number));
    const body = subscription.sealed ? seal(subscription, message, entity, number) : message;
    return signed(subscription, body);
  }

  /** A webhook that somebody changed on its way: it has to be refused, and to be nowhere. */
  tamperedRequest(entity: number, number: number): Request {
    const { path, headers } = this.requestFor(entity, number);
    const message = `{"n":${number},"entityId":"${REFUSED_ENTITY}","type":"payment-status"}`;
    return { path, headers, body: Buffer.from(message) };
  }

  /** The event id that DESIGN.md promises: SHA-256 over subscription id and message, as a version 8 UUID. */
  eventIdOf(entity: number, number: number): string {
    const { subscriptionId } = this.subscriptionOf(entity);
    const digest = createHash('sha256')
      .update(subscriptionId + this.messageOf(entity, number))
      .digest('hex');
    const variant = ((Number.parseInt(digest.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
    return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-${variant}${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
  }
}

export const REFUSED_ENTITY = 'refused';

/** Entity and number of a message as it was read back, or null where it is none of ours. */
export function nameOf(message: string): { entity: number; number: number } | null {
  const match = /^\{"n":(\d+),"entityId":"e-(\d+)"/.exec(message);
  return match ? { number: Number(match[1]), entity: Number(match[2]) } : null;
}

function signed({ ref, subscriptionId, signingSecret, sealed }: Subscription, body: Buffer): Request {
  const signature = createHmac('sha256', subscriptionId + signingSecret)
    .update(body)
    .digest('hex');
  const contentType = sealed ? 'application/octet-stream' : 'application/json';
  return {
    path: `/webhooks/${ref}`,
    headers: { 'content-type': contentType, 'x-signature-sha256': signature },
    body,
  };
}

function seal({ encryptionKey }: Subscription, message: Buffer, entity: number, number: number): Buffer {
  const iv = Buffer.alloc(12);
  iv.writeUInt32BE(entity, 0);
  iv.writeUInt32BE(number, 4);
  const cipher = createCipheriv('aes-256-gcm', encryptionKey, iv, { authTagLength: 16 });
  return Buffer.concat([iv, cipher.update(message), cipher.final(), cipher.getAuthTag()]);
}

const hex = (value: number, length: number) => value.toString(16).padStart(length, '0').slice(-length);
