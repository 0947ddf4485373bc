import { BlockList, isIP } from 'node:net';
import { type EnvReader, flag } from './env.ts';
import { withoutBrackets } from './networks.ts';

/** Part of the settings of everything that sends a credential. */
export const plaintextSettings = {
  allowPlaintextCredentials: flag('ALLOW_PLAINTEXT_CREDENTIALS', {
    about:
      'whether passwords, JWTs and tokens may be sent without TLS to hosts other than loopback addresses; use it only if nobody can read the network',
    fallback: 'false',
  }),
};

/** A variable whose addresses a credential is sent to without TLS. */
export type PlaintextUse = {
  readonly variable: string;
  readonly hosts: readonly string[];
  /** What is sent, such as "the password of KAFKA_USERNAME". */
  readonly credential: string;
  /** How TLS is switched on, as an imperative: "Set KAFKA_SSL to true". */
  readonly remedy: string;
};

/** Adds a fault where a credential would travel without TLS to another host than this one. */
export function checkPlaintextCredentials(
  settings: { readonly allowPlaintextCredentials: boolean },
  use: PlaintextUse,
  reader: EnvReader,
): void {
  const others = use.hosts.filter((host) => !isLoopback(host));
  if (settings.allowPlaintextCredentials || others.length === 0) return;
  reader.fault(
    `${use.variable} would have ${use.credential} sent to ${others.join(', ')} without TLS. ${use.remedy}, or set ALLOW_PLAINTEXT_CREDENTIALS to true where nobody else can read that network.`,
  );
}

/** The same for a variable that holds a URL; nothing where it is unset, faulty or https. */
export function checkPlaintextUrl(
  settings: { readonly allowPlaintextCredentials: boolean },
  { variable, url, credential }: { variable: string; url: string | undefined; credential: string },
  reader: EnvReader,
): void {
  const parsed = url === undefined ? null : URL.parse(url);
  if (parsed?.protocol !== 'http:') return;
  const remedy = `Give an https address in ${variable}`;
  checkPlaintextCredentials(settings, { variable, hosts: [parsed.hostname], credential, remedy }, reader);
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether what is sent to the host stays on this machine. IPv6 addresses may be in brackets, as in a URL. */
export function isLoopback(host: string): boolean {
  const name = withoutBrackets(host).toLowerCase();
  const version = isIP(name);
  return version === 0 ? name === 'localhost' : LOOPBACK.check(name, version === 6 ? 'ipv6' : 'ipv4');
}
