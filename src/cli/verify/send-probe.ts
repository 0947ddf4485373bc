import type { ValuesOf } from '../../config/env.ts';
import type { ProxySettings } from '../../config/proxy.ts';
import { UNOBSERVED_FILES } from '../../config/renewed-files.ts';
import { HooklineError, UsageError } from '../../core/errors.ts';
import { PROBE } from '../../core/names.ts';
import { eventIdOf, newId } from '../../crypto/ids.ts';
import { type SigningKey, signingKey } from '../../crypto/keys.ts';
import type { Clock } from '../../runtime/clock.ts';
import { createHttp } from '../../runtime/http-client.ts';
import { named } from '../../runtime/tls-files.ts';
import { readDirSecrets } from '../../subscriptions/secrets-dir.ts';
import { describeError } from '../shell/shell.ts';
import type { verifySettings } from './verify-settings.ts';

/** A signed webhook that `hookline verify` sends. */
export type Probe = {
  readonly id: string;
  /** The event id that it must have, by its bytes. */
  readonly eventId: string;
  readonly body: string;
  readonly signature: string;
};

/** What ingress said. */
export type ProbeAnswer = {
  /** HTTP status; null where there was no answer. */
  readonly status: number | null;
  readonly stored: 'kafka' | 'spool' | null;
  readonly seconds: number;
  /** Why it does not count as acknowledged; null where it does. */
  readonly fault: string | null;
};

/**
 * The current key of the ref of probes, as ingress has it.
 * @throws UsageError where SECRETS_DIR has none
 */
export async function readProbeKey(secretsDir: string | undefined): Promise<SigningKey> {
  if (secretsDir === undefined)
    throw new UsageError(`SECRETS_DIR is not set: give the directory that holds ${PROBE.ref}/.`);
  const secrets = await readDirSecrets(secretsDir, PROBE.ref).catch((error: unknown) => {
    if (error instanceof HooklineError) throw new UsageError(error.message);
    throw error;
  });
  const [subscriptionId] = secrets.subscriptionIds;
  const [secret] = secrets.signingSecrets;
  if (subscriptionId === undefined || secret === undefined)
    throw new UsageError(
      `${secretsDir}/${PROBE.ref} has no subscription-id and signing-secret: put 36 characters into each, there and in ingress.`,
    );
  return signingKey(subscriptionId, secret, 0);
}

export function makeProbe({ subscriptionId, key }: SigningKey, clock: Clock): Probe {
  const id = newId();
  const sentAt = new Date(clock.wall()).toISOString();
  const body = JSON.stringify({ type: PROBE.type, entityId: id, payload: { sentAt } });
  const bytes = Buffer.from(body);
  return { id, body, eventId: eventIdOf(subscriptionId, bytes), signature: key.digest(bytes) };
}

const MAX_ANSWER_BYTES = 64 * 1024;

/** Posts the probe as the provider posts a webhook. Never throws for what ingress does, or does not do. */
export async function sendProbe(
  { body, signature, eventId }: Probe,
  settings: Pick<
    ValuesOf<typeof verifySettings>,
    keyof ProxySettings | 'url' | 'caFile' | 'certFile' | 'keyFile'
  >,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Promise<ProbeAnswer> {
  const tls = {
    ca: named('VERIFY_CA_FILE', settings.caFile),
    cert: named('VERIFY_CERT_FILE', settings.certFile),
    key: named('VERIFY_KEY_FILE', settings.keyFile),
  };
  const http = createHttp({ tls, files: UNOBSERVED_FILES, clock, proxy: settings });
  const start = clock.now();
  const seconds = () => (clock.now() - start) / 1_000;
  try {
    const answer = await http.send({
      method: 'POST',
      url: `${settings.url}/webhooks/${PROBE.ref}`,
      headers: { 'content-type': 'application/json', 'x-signature-sha256': signature },
      body,
      timeoutMs,
      maxAnswerBytes: MAX_ANSWER_BYTES,
    });
    return { ...judgeAnswer(answer, eventId), status: answer.status, seconds: seconds() };
  } catch (error) {
    const fault = `no answer from ${settings.url}: ${describeError(error)}`;
    return { status: null, stored: null, seconds: seconds(), fault };
  } finally {
    await http.stop();
  }
}

function judgeAnswer(
  { status, body }: { readonly status: number; readonly body: string },
  eventId: string,
): Pick<ProbeAnswer, 'stored' | 'fault'> {
  if (status !== 200) return { stored: null, fault: `ingress answered ${status}: ${body.slice(0, 200)}` };
  const answer = parse(body);
  const stored = answer.stored === 'kafka' || answer.stored === 'spool' ? answer.stored : null;
  if (stored === null) return { stored, fault: `200, and not from ingress: ${body.slice(0, 200)}` };
  return { stored, fault: answer.eventId === eventId ? null : 'ingress acknowledged another event' };
}

function parse(body: string): { readonly eventId?: unknown; readonly stored?: unknown } {
  try {
    return Object(JSON.parse(body));
  } catch {
    return {};
  }
}
