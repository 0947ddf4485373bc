import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { createSourceFilter } from '../../src/config/networks.ts';
import type { Receipt } from '../../src/core/delivery.ts';
import type { OutgoingRecord } from '../../src/core/record.ts';
import { publishDelivery } from '../../src/delivery/publish-delivery.ts';
import { createIngressApp } from '../../src/ingress/app.ts';
import { BodyMemory } from '../../src/ingress/body/body-memory.ts';
import type { Pace } from '../../src/ingress/body/throttle.ts';
import { type ConnectionEnd, ConnectionLimits } from '../../src/ingress/connection-limits.ts';
import type { TlsFiles } from '../../src/ingress/http-server.ts';
import type { IngressObserver } from '../../src/ingress/observe-ingress.ts';
import { type Clock, systemClock } from '../../src/runtime/clock.ts';
import { LiveKeyring } from '../../src/subscriptions/keyring.ts';
import { deliveryParts, signingSecret, subscriptionId } from './delivery-parts.ts';
import { signatureOf } from './sign.ts';

export type RefusalSeen = { code: string; ref: string | undefined };

type Options = {
  maxBodyBytes?: number;
  requestTimeoutMs?: number;
  allowedSources?: string[];
  trustedProxies?: string[];
  /** Sees everything instead of what collects refusals and receipts here. */
  observer?: IngressObserver;
  maxConnections?: number;
  maxPerSource?: number;
  /** Where it listens; clients use 127.0.0.1. */
  host?: string;
  tls?: TlsFiles;
  leaving?: AbortSignal;
  layout?: string;
  /** Bytes for small bodies. */
  smallMemory?: number;
  /** Bytes for large bodies. */
  largeMemory?: number;
  admissionWaitMs?: number;
  /** At which large bodies are read. */
  pace?: Pace;
  /** Of the app's own time-outs. */
  clock?: Clock;
  /** The clock of bodies that arrive. */
  now?: () => number;
  publish?: (record: OutgoingRecord, n: number) => void;
};

/** The webhooks' server on a real port, over doubles of what is behind it. Ref `ledger-eu` has the vectors' keys. */
export async function startIngressApp(options: Options = {}) {
  const keyring = new LiveKeyring({ clock: systemClock, retiredKeysTtlMs: 1_000 });
  const encryptionKeys = ['0123456789abcdef0123456789ABCDEF'];
  keyring.setDir('ledger-eu', {
    subscriptionIds: [subscriptionId],
    signingSecrets: [signingSecret],
    encryptionKeys,
  });
  const delivery = deliveryParts({
    ...(options.publish && { publish: options.publish }),
    ...(options.layout !== undefined && { layout: options.layout }),
  });
  const refusals: RefusalSeen[] = [];
  const receipts: Receipt[] = [];
  /** Why connections were closed. */
  const ends: ConnectionEnd[] = [];
  /** From the head of each webhook to its answer. */
  const seconds: (number | undefined)[] = [];
  const memory = new BodyMemory({
    small: options.smallMemory ?? 16 * 1024 ** 2,
    large: options.largeMemory ?? 64 * 1024 ** 2,
    read: options.largeMemory ?? 64 * 1024 ** 2,
    atWork: 64 * 1024 ** 2,
    admissionWaitMs: options.admissionWaitMs ?? 2_000,
    pace: options.pace ?? { beside: 1e9, alone: 1e9 },
    clock: options.now ? { ...systemClock, now: options.now } : systemClock,
  });
  const { allowedSources = [], trustedProxies = [] } = options;
  const limits = new ConnectionLimits({
    maxConnections: options.maxConnections ?? 1_000,
    maxPerSource: options.maxPerSource,
    isAllowedPeer:
      allowedSources.length > 0 ? createSourceFilter([...allowedSources, ...trustedProxies]) : undefined,
    isBehindProxies: trustedProxies.length > 0,
    onClosed: (reason) => observer.closed(reason),
  });
  const observer: IngressObserver = options.observer ?? {
    accepted: (_, receipt, took) => {
      receipts.push(receipt);
      seconds.push(took);
    },
    refused: (error, ref, took) => {
      refusals.push({ code: (error as { code?: string }).code ?? String(error), ref });
      seconds.push(took);
    },
    closed: (reason) => ends.push(reason),
    stop: async () => {},
  };
  const app = createIngressApp({
    delivery: { ...delivery, store: (verified) => publishDelivery(verified, delivery) },
    keyring,
    observer,
    limits,
    tls: options.tls,
    clock: options.clock ?? systemClock,
    leaving: options.leaving ?? new AbortController().signal,
    memory,
    maxBodyBytes: options.maxBodyBytes ?? 1_000_000,
    requestTimeoutMs: options.requestTimeoutMs ?? 5_000,
    trustedProxies,
    isAllowedSource: createSourceFilter(allowedSources),
    onLargeBody: () => {},
  });
  await app.listen({ host: options.host ?? '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const url = `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`;
  const close = () => app.close();
  return {
    app,
    url,
    port,
    keyring,
    memory,
    /** A new signing secret goes before the vectors' one. */
    rotate: (secret: string) =>
      keyring.setDir('ledger-eu', {
        subscriptionIds: [subscriptionId],
        signingSecrets: [secret, signingSecret],
        encryptionKeys,
      }),
    delivery,
    refusals,
    receipts,
    ends,
    limits,
    seconds,
    seen: delivery.seen,
    [Symbol.asyncDispose]: close,
  };
}

/** The signature with the vectors' keys. */
export const sign = (body: string | Buffer) => signatureOf({ subscriptionId, signingSecret }, body);

/** Sends a webhook; headers set to undefined are left out. */
export function post(url: string, body: string | Buffer, headers: Record<string, string | undefined> = {}) {
  const all = { 'content-type': 'application/json', 'x-signature-sha256': sign(body), ...headers };
  const set = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return fetch(url, { method: 'POST', body: body as string, headers: set });
}

/** Writes to a bare connection, ends its side where told to, and gives back all that comes until it closes. */
export function exchange(
  port: number,
  parts: readonly string[],
  options: { end?: boolean } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      for (const part of parts) socket.write(part);
      if (options.end) socket.end();
    });
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString();
    });
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
    socket.setTimeout(15_000, () => socket.destroy(new Error(`nothing more after: ${text}`)));
  });
}
