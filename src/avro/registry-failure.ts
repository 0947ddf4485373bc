import { shortText } from '../core/cut-text.ts';
import { HooklineError } from '../core/errors.ts';
import { connectionFaultOf, eachError, explainFault, type OtherSide } from '../runtime/connection-fault.ts';
import { LARGE_SCHEMA, NO_REGISTRY, NO_REGISTRY_STATUS, type RegistryOptions } from './registry-http.ts';

export type RegistryFailure = {
  readonly status?: number;
  readonly name?: string;
  readonly message?: string;
  /** What its request carried, where that was a token. */
  readonly authorization?: string;
};

const REGISTRY: OtherSide = {
  name: 'the schema registry',
  address: 'SCHEMA_REGISTRY_URL',
  ca: 'SCHEMA_REGISTRY_CA_FILE',
  useTls: 'write https in SCHEMA_REGISTRY_URL',
  useNoTls: 'write http in SCHEMA_REGISTRY_URL, or give the port that speaks TLS',
  cert: 'SCHEMA_REGISTRY_CERT_FILE',
  key: 'SCHEMA_REGISTRY_KEY_FILE',
};

/** Where no answer came at all the client makes up a status 400: what isn't known here is the registry's absence. */
export function classify(error: unknown, { url, auth, tokens }: RegistryOptions): HooklineError {
  // The client wraps what happens before its request is sent: a token that can't be obtained.
  const own = eachError(error).find((one) => one instanceof HooklineError);
  if (own) return withoutToken(own, url);
  const { status, name, message } = error as RegistryFailure;
  // The client wraps a 404 to a schema's text into an error without a status.
  if (status === 404 || (status === undefined && name === 'ConfluentSchemaRegistryError')) {
    return new HooklineError('SCHEMA_NOT_REGISTERED', undefined, { cause: error });
  }
  if (status === 401 || status === 403) {
    const remedy = tokens
      ? 'check what the registry demands of an access token, and SCHEMA_REGISTRY_HEADERS'
      : auth
        ? 'correct SCHEMA_REGISTRY_USERNAME, or the content of the file that SCHEMA_REGISTRY_PASSWORD_FILE names'
        : 'set SCHEMA_REGISTRY_USERNAME and SCHEMA_REGISTRY_PASSWORD_FILE, or SCHEMA_REGISTRY_OAUTH_TOKEN_URL and what goes with it';
    return new HooklineError('REGISTRY_REFUSED', `${url} answered ${status}`, { cause: error, remedy });
  }
  // In read-only mode, or in that of a registry that is filled from another.
  if (status === 422 && /(in read-only|not in read-write) mode/.test(message ?? '')) {
    const remedy = 'set its mode to READWRITE, or register the schemas where it copies them from';
    return new HooklineError('REGISTRY_READ_ONLY', shortened(message), { cause: error, remedy });
  }
  if (status === 409 || status === 422)
    return new HooklineError('SCHEMA_INCOMPATIBLE', shortened(message), { cause: error });
  const why = shortened(message?.replace(/^.* - (Error, status 400: )?/, ''));
  if (why?.startsWith(LARGE_SCHEMA)) return new HooklineError('SCHEMA_INVALID', why, { cause: error });
  const fault = connectionFaultOf(error);
  const isUnknownPath = status === NO_REGISTRY_STATUS;
  if (!fault && (isUnknownPath || isOfSomethingElse(error as Error, why))) {
    const remedy =
      'see that a registry runs behind that address, and that SCHEMA_REGISTRY_URL has the path of its Confluent API';
    const answer = isUnknownPath ? `${url} answered 404` : url;
    const finding = why?.startsWith(NO_REGISTRY) ? why : NO_REGISTRY;
    return new HooklineError('REGISTRY_UNAVAILABLE', `${answer}: ${finding}`, { cause: error, remedy });
  }
  if (!fault) return new HooklineError('REGISTRY_UNAVAILABLE', `${url}: ${why}`, { cause: error });
  const { finding, remedy } = explainFault(fault, REGISTRY);
  return new HooklineError('REGISTRY_UNAVAILABLE', `${url}: ${finding}`, { cause: error, remedy });
}

/** A page, as of a proxy or of the registry's own web interface; or JSON that no registry answers: the client looks into it. */
const isOfSomethingElse = ({ name }: Error, why = ''): boolean =>
  name === 'SyntaxError' ||
  name === 'TypeError' ||
  why.startsWith(NO_REGISTRY) ||
  /^(Error, status \d+: )?\s*<(!doctype|html|\?xml)\b/i.test(why);

/** Whoever waits for the registry waits for its tokens as well: nothing that needs a schema is unreadable for lack of one. */
function withoutToken(own: HooklineError, url: string): HooklineError {
  const isRefused = own.code === 'ACCESS_TOKEN_REFUSED';
  if (!isRefused && own.code !== 'ACCESS_TOKEN_UNAVAILABLE') return own;
  // The remedy is at the end of the message.
  const code = isRefused ? 'REGISTRY_REFUSED' : 'REGISTRY_UNAVAILABLE';
  return new HooklineError(code, `${url}: ${own.message}`, { cause: own });
}

/** What an answer says of itself may be megabytes, and goes into the log. */
const MAX_WHY = 2_000;

const shortened = (text: string | undefined) => text && shortText(text, MAX_WHY);
