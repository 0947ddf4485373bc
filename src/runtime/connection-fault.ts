/** Why a connection fails, as far as the error is certain about it. */
export type ConnectionFault =
  | 'untrusted'
  | 'expired'
  | 'not-yet-valid'
  | 'other-name'
  | 'certificate-demanded'
  | 'certificate-refused'
  | 'speaks-tls'
  | 'speaks-no-tls'
  | 'name-unknown'
  | 'nobody-listens'
  | 'no-answer';

/**
 * By code and message, as Node and OpenSSL have them: the clients pass one of them, or both. The names of
 * the alerts changed with OpenSSL 3 ("SSLV3_ALERT_…" became "SSL/TLS_ALERT_…").
 */
const SIGNS: readonly (readonly [ConnectionFault, RegExp])[] = [
  ['other-name', /ERR_TLS_CERT_ALTNAME_INVALID|does not match certificate's altnames/],
  ['expired', /\bCERT_HAS_EXPIRED\b|certificate has expired/],
  ['not-yet-valid', /\bCERT_NOT_YET_VALID\b|certificate is not yet valid/],
  [
    'untrusted',
    /UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT|SELF_SIGNED_CERT|unable to verify the first certificate|unable to get (local )?issuer certificate|self-signed certificate/,
  ],
  ['certificate-demanded', /ALERT_CERTIFICATE_REQUIRED|alert certificate required/],
  [
    'certificate-refused',
    /ALERT_(BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_(REVOKED|EXPIRED|UNKNOWN)|UNKNOWN_CA)\b/,
  ],
  ['speaks-tls', /Broker requires TLS|\bSPEAKS_TLS\b|plain HTTP request was sent to HTTPS port/],
  ['speaks-no-tls', /before secure TLS connection was established|WRONG_VERSION_NUMBER|wrong version number/],
  ['name-unknown', /\b(ENOTFOUND|EAI_AGAIN)\b/],
  ['nobody-listens', /\bECONNREFUSED\b/],
  // The last three are of brokers that accept a connection and answer nothing over it: two are kafkajs', and one our own cut's.
  [
    'no-answer',
    /\b(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)\b|Connection timeout|timed out|\bTimeout \(\d|Broker not connected|Timeout while acquiring lock|the broker sent nothing for \d/,
  ],
];

/** The proxy of HTTPS_PROXY gave no connection, so that nothing was sent. */
export class ProxyFault extends Error {
  readonly finding: string;
  readonly remedy: string;
  constructor({ finding, remedy }: Explanation, cause?: unknown) {
    super(`${finding}: ${remedy}`, { cause });
    this.finding = finding;
    this.remedy = remedy;
  }
}

/** Some clients pass on the message alone. */
const OF_PROXY = /\bthe proxy \S+ of HTTPS_PROXY\b/;

/** Looks through an error, its causes and what it aggregates. A fault of the proxy is none of the other side: it explains itself. */
export function connectionFaultOf(error: unknown): ConnectionFault | undefined {
  const texts = eachError(error).map(({ code, message }) => `${code ?? ''} ${message}`.trim());
  if (texts.some((text) => OF_PROXY.test(text))) return undefined;
  return SIGNS.find(([, sign]) => texts.some((text) => sign.test(text)))?.[0];
}

/** An error and all that is in it, the outermost first. */
export function eachError(error: unknown, depth = 0): (Error & { code?: unknown })[] {
  if (!(error instanceof Error) || depth > 8) return [];
  const inner = error instanceof AggregateError ? error.errors : [];
  return [error, ...[...inner, error.cause].flatMap((one) => eachError(one, depth + 1))];
}

/** The other side, and the variables that say how to reach it. */
export type OtherSide = {
  /** As the subject of a sentence in the plural or singular: "the brokers". */
  readonly name: string;
  readonly address: string;
  readonly ca: string;
  readonly useTls: string;
  readonly useNoTls: string;
  /** Where it may demand a client certificate. */
  readonly cert?: string;
  readonly key?: string;
};

/** What was found, and what to do about it. */
export type Explanation = { readonly finding: string; readonly remedy: string };

/** @param ownExpiry when our client certificate ends, where there is one */
export function explainFault(fault: ConnectionFault, side: OtherSide, ownExpiry?: Date): Explanation {
  const { name, address, ca, cert = '', key = '' } = side;
  const of = `the certificate of ${name}`;
  switch (fault) {
    case 'untrusted':
      return explanation(
        `${of} is from an authority that isn't trusted`,
        `set ${ca} to that authority's certificate`,
      );
    case 'expired':
      return explanation(`${of} has expired`, 'have it renewed there: no variable of Hookline changes it');
    case 'not-yet-valid':
      return explanation(`${of} isn't valid yet`, 'compare the clocks, and check the certificate there');
    case 'other-name':
      return explanation(
        `${of} is for other host names`,
        `use a name from the certificate in ${address}, or have the certificate issued for the one that is used`,
      );
    case 'certificate-demanded':
      return explanation(`${name} demand a client certificate`, `set ${cert} and ${key}`);
    case 'certificate-refused':
      return ownExpiry && ownExpiry.getTime() < Date.now()
        ? explanation(
            `Hookline's client certificate ended ${ownExpiry.toISOString()}`,
            `renew the files of ${cert} and ${key}`,
          )
        : explanation(
            `${name} refuse Hookline's client certificate`,
            `see that ${cert} is from an authority that they trust, and is valid`,
          );
    case 'speaks-tls':
      return explanation(`TLS is spoken there, and Hookline doesn't`, side.useTls);
    case 'speaks-no-tls':
      return explanation(`no TLS is spoken there, and Hookline does`, side.useNoTls);
    case 'name-unknown':
      return explanation('the host name is unknown', `correct ${address}, or the name service`);
    case 'nobody-listens':
      return explanation('nobody listens there', `see that it runs, and correct ${address}`);
    case 'no-answer':
      return explanation(
        'no answer in time',
        `check that it runs, and check ${address} and the network between`,
      );
  }
}

const explanation = (finding: string, remedy: string): Explanation => ({ finding, remedy });
