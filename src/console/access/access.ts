import type { FastifyRequest } from 'fastify';
import { createSourceFilter, urlHost } from '../../config/networks.ts';
import { isLoopback } from '../../config/plaintext-credentials.ts';
import type { ConsoleSettings } from '../settings/console-settings.ts';
import { nameFault, ROLES, rolesOf, type User } from '../settings/roles.ts';
import type { Sessions } from './sessions.ts';

/** Who a request comes from: a user, nobody yet (who may log in), or somebody whom the console does not answer, and why not. */
export type Identity = { readonly user: User } | { readonly login: true } | { readonly refused: string };

export type Identify = (request: FastifyRequest) => Promise<Identity>;

/** The three ways to be known: by a session after a login, by a proxy's header, or by being on this machine. */
export function createIdentify(settings: ConsoleSettings, sessions: Sessions | undefined): Identify {
  if (sessions) return (request) => bySession(request, sessions, settings);
  if (settings.userHeader !== undefined) return byHeader(settings, settings.userHeader);
  return onLoopback(settings);
}

async function bySession(
  request: FastifyRequest,
  sessions: Sessions,
  { roles }: ConsoleSettings,
): Promise<Identity> {
  const session = await sessions.read(request);
  return session ? { user: { name: session.name, roles: rolesOf(session.groups, roles) } } : { login: true };
}

function byHeader({ groupsHeader, trustedProxies, roles }: ConsoleSettings, userHeader: string): Identify {
  const isProxy = createSourceFilter(trustedProxies);
  return async (request) => {
    // The connection's own address: no header can change it.
    if (!isProxy(request.socket.remoteAddress ?? ''))
      return { refused: 'This address is not one of CONSOLE_TRUSTED_PROXIES: use the address of the proxy.' };
    const name = one(request, userHeader);
    const groups = groupsHeader ? one(request, groupsHeader) : '';
    // Twice: a proxy that adds its header to the sender's would let the sender choose a name.
    if (name === null || groups === null)
      return { refused: 'The proxy sent a header of the user twice: it must replace what the sender wrote.' };
    const fault = nameFault(name);
    if (fault !== null) return { refused: `${fault} ${userHeader} has it.` };
    if (name === '') return { refused: `The proxy did not send ${userHeader}: nobody is logged in.` };
    return { user: { name, roles: rolesOf(splitGroups(groups), roles) } };
  };
}

const splitGroups = (text: string) => text.split(',').map((group) => group.trim());

/** A header's value, '' where it is absent, null where it came more than once. */
function one({ raw: { rawHeaders } }: FastifyRequest, name: string): string | null {
  const values = rawHeaders.filter((_, n) => n % 2 === 1 && rawHeaders[n - 1]?.toLowerCase() === name);
  // As Node reads headers: bytes, which proxies fill with UTF-8.
  return values.length > 1 ? null : Buffer.from(values[0]?.trim() ?? '', 'latin1').toString('utf8');
}

const LOCAL: User = { name: 'loopback', roles: new Set(ROLES) };

/**
 * Whoever is on this machine may do what its CLI may. The name in the address is checked, because a website may have its own name
 * resolve to 127.0.0.1 and read what its visitors' machines serve there (DNS rebinding).
 */
const onLoopback =
  ({ host: listensOn }: ConsoleSettings): Identify =>
  async ({ headers: { host = '' } }) =>
    isLoopback(URL.parse(`http://${host}`)?.hostname ?? '')
      ? { user: LOCAL }
      : {
          refused: `The console has no login and answers on this machine alone: open it at ${urlHost(listensOn)}.`,
        };
