import { urlHost } from '../../config/networks.ts';
import { HooklineError, hasCode } from '../../core/errors.ts';
import {
  type ConnectionFault,
  connectionFaultOf,
  type Explanation,
  eachError,
  explainFault,
  type OtherSide,
} from '../../runtime/connection-fault.ts';
import { withColons } from './broker-address.ts';
import type { KafkaConnection } from './connection.ts';
import { TokenRefusedError } from './sasl.ts';

const BROKERS: OtherSide = {
  name: 'the brokers',
  address: 'KAFKA_BROKERS',
  ca: 'KAFKA_CA_FILE',
  useTls: 'set KAFKA_SSL to true',
  useNoTls: 'set KAFKA_SSL to false, or give the port that speaks TLS in KAFKA_BROKERS',
  cert: 'KAFKA_CERT_FILE',
  key: 'KAFKA_KEY_FILE',
};

/**
 * Turns a client's error into one that names the variable to check and the remedy, where the error tells what is the
 * matter; any other is given back as it is.
 * @param neverAnswered the brokers have answered no request of this client yet: a connection that they close then was
 *   most likely closed because of how it began
 */
export function explainRefusal(
  error: unknown,
  connection: KafkaConnection,
  { neverAnswered }: { neverAnswered: boolean },
): unknown {
  if (error instanceof HooklineError) return error;
  const tokenFault = eachError(error).find(isTokenFault);
  if (tokenFault) return tokenFault;
  const all = connection.brokers.join(', ');
  if (isOfOtherUser(error)) return explained('KAFKA_UNAVAILABLE', OTHER_USER, all, error);
  const refused = explainSasl(error, connection);
  if (refused) return explained('KAFKA_REFUSED', refused, all, error);
  const plaintext = explainPlaintext(error);
  if (plaintext) return explained('PLAINTEXT_CREDENTIALS', plaintext, all, error);
  const fault = connectionFaultOf(error);
  if (fault) return explainUnreached(fault, connection, error, neverAnswered);
  const closed = neverAnswered && isClosed(error) && explainClosed(connection);
  return closed ? explained('KAFKA_UNAVAILABLE', closed, all, error) : error;
}

/** Others of KAFKA_BROKERS may well answer: where the error tells which one does not, that one is named alone. */
function explainUnreached(
  fault: ConnectionFault,
  connection: KafkaConnection,
  error: unknown,
  neverAnswered: boolean,
): HooklineError {
  const { brokers } = connection;
  const errors = eachError(error);
  // In one order, however they were tried: what is told once is known by its text. Another one may have failed for another reason.
  const named = [
    ...new Set(errors.filter((one) => connectionFaultOf(one) === fault).flatMap(addressIn)),
  ].sort();
  // Host names have no case.
  const given = new Set(brokers.map((broker) => broker.toLowerCase()));
  const isAdvertised = named.length > 0 && !named.some((address) => given.has(address.toLowerCase()));
  const side = isAdvertised ? { ...BROKERS, address: 'advertised.listeners of the brokers' } : BROKERS;
  const explanation = explainFault(fault, side, connection.tls?.().validity?.notAfter);
  const mayBeAll = fault === 'no-answer' && neverAnswered && errors.flatMap(addressIn).length === 0;
  const isOneOf = named.length === 0 && brokers.length > 1 && !mayBeAll;
  const at = (named.length > 0 ? named : brokers).join(', ');
  const address = `${isOneOf ? 'at least one of ' : ''}${at}${isAdvertised ? ', which the brokers advertise' : ''}`;
  return explained('KAFKA_UNAVAILABLE', explanation, address, error);
}

/** kafkajs has the address in `broker`, the other client in the message; neither puts an IPv6 address in brackets. */
function addressIn({ broker, message }: Error & { broker?: unknown }): string[] {
  const told =
    typeof broker === 'string' ? broker : /^Connection to (\S+) (?:failed|timed out)/.exec(message)?.[1];
  const [, host, port] = /^(.+):(\d+)$/.exec(told ?? '') ?? [];
  return host === undefined ? [] : [`${urlHost(withColons(host))}:${port}`];
}

/** An advertised address that the password must not be sent to. The clients pass the code, the message, or both. */
function explainPlaintext(error: unknown): Explanation | undefined {
  for (const { message } of eachError(error)) {
    const [finding] = /the brokers advertise .* without TLS/.exec(message) ?? [];
    if (finding === undefined) continue;
    const remedy =
      'set KAFKA_SSL to true, or ALLOW_PLAINTEXT_CREDENTIALS where nobody else can read that network';
    return { finding, remedy };
  }
  return undefined;
}

function explained(
  code: 'KAFKA_REFUSED' | 'KAFKA_UNAVAILABLE' | 'PLAINTEXT_CREDENTIALS',
  { finding, remedy }: Explanation,
  address: string,
  cause: unknown,
): HooklineError {
  return new HooklineError(code, `${address}: ${finding}`, { remedy, cause });
}

/** The words of the brokers where a session is renewed: one client has them in its message, the other beside it. */
const isOfOtherUser = (error: unknown) =>
  eachError(error).some((one: Error & { serverErrorMessage?: unknown }) =>
    `${one.message} ${one.serverErrorMessage}`.includes('change principals during re-authentication'),
  );

/** No refusal: the same token is taken in a new session, which begins with the next request. */
const OTHER_USER: Explanation = {
  finding: 'they have ended the session, as the access token is that of another user now',
  remedy: 'a new session is begun; if this comes again, have all tokens issued for one user',
};

/** What the brokers say of SASL: kafkajs names it in `name` and `type`, the other client in `apiId`. */
function explainSasl(error: unknown, { sasl }: KafkaConnection): Explanation | undefined {
  if (!sasl) return undefined;
  const { mechanism } = sasl;
  for (const one of eachError(error)) {
    const { name, type, apiId, message } = one as Error & { type?: string; apiId?: string };
    const kind = type ?? apiId;
    if (kind === 'UNSUPPORTED_SASL_MECHANISM' || /mechanism is not supported/.test(message)) {
      return {
        finding: `they don't take ${mechanism}`,
        remedy: 'set KAFKA_SASL_MECHANISM to one that they take',
      };
    }
    if (kind === 'ILLEGAL_SASL_STATE') {
      const remedy = 'leave KAFKA_SASL_MECHANISM unset, or give the port with SASL in KAFKA_BROKERS';
      return { finding: 'this port of theirs has no SASL', remedy };
    }
    if (
      sasl.mechanism === 'OAUTHBEARER' &&
      (one instanceof TokenRefusedError || kind === 'SASL_AUTHENTICATION_FAILED')
    )
      return {
        finding: 'they do not take the access token',
        remedy: `check ${sasl.variables}, and what the brokers demand of a token: issuer, audience, claims`,
      };
    if (kind === 'SASL_AUTHENTICATION_FAILED' || name === 'KafkaJSSASLAuthenticationError') {
      const remedy = 'correct KAFKA_USERNAME, or the content of the file that KAFKA_PASSWORD_FILE names';
      return { finding: `${mechanism}: wrong user or password`, remedy };
    }
  }
  return undefined;
}

/** A session that was too short to be renewed, as the token was about to end; or whose token is now that of another user. */
const ENDED_SESSIONS: ReadonlySet<string> = new Set(['ILLEGAL_SASL_STATE', 'SASL_AUTHENTICATION_FAILED']);

/** Whether it is about credentials, which may be others the next time: files are read again, tokens obtained anew. */
export const isRefusal = (error: unknown): boolean =>
  eachError(error).some(
    (one) =>
      one.name === 'KafkaJSSASLAuthenticationError' ||
      one instanceof TokenRefusedError ||
      isTokenFault(one) ||
      ENDED_SESSIONS.has((one as { type?: string }).type ?? ''),
  );

const isTokenFault = (error: unknown) => hasCode(error, 'ACCESS_TOKEN_REFUSED', 'ACCESS_TOKEN_UNAVAILABLE');

const CLOSED = /closed connection|connection closed|closed by the server|ECONNRESET|EPIPE|socket hang up/i;

const isClosed = (error: unknown) =>
  eachError(error).some((one) => CLOSED.test(`${one.code ?? ''} ${one.message}`));

/** A broker that misses something in how a connection begins closes it without a word. */
function explainClosed({ tls, sasl }: KafkaConnection): Explanation {
  const demands = [
    ...(tls ? [] : ['KAFKA_SSL to true where this port speaks TLS']),
    ...(sasl ? [] : ['KAFKA_SASL_MECHANISM and what goes with it where it demands SASL']),
    ...(tls && tls().validity === undefined
      ? ['KAFKA_CERT_FILE and KAFKA_KEY_FILE where it demands a client certificate']
      : []),
  ];
  const remedy = demands.length > 0 ? `set ${demands.join('; ')}` : 'see the log of the brokers';
  return { finding: 'they close the connection without a word', remedy };
}

/** @param neverAnswered whether no method but `connect` has ended yet */
type Explain = (error: unknown, neverAnswered: boolean) => unknown;

/**
 * The same client, whose methods reject with errors that name the remedy. `explain` gives back as it is what it can't
 * explain, so that its type can still be checked.
 */
export function explaining<C extends object>(client: C, explain: Explain): C {
  let neverAnswered = true;
  const wrap = (name: string, method: unknown) => {
    if (typeof method !== 'function') return method;
    return (...args: unknown[]) => {
      const result: unknown = method(...args);
      if (!(result instanceof Promise)) return result;
      return result.then(
        (value) => {
          if (!/^(dis)?connect$/.test(name)) neverAnswered = false;
          return value;
        },
        (error) => Promise.reject(explain(error, neverAnswered)),
      );
    };
  };
  const wrapped = Object.entries(client).map(([name, method]) => [name, wrap(name, method)]);
  return Object.fromEntries(wrapped) as C;
}
