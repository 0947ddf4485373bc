import { readFileSync } from 'node:fs';
import { passwordIn } from '../config/renewed-files.ts';
import { HooklineError } from '../core/errors.ts';
import { connectionFaultOf, explainFault, type OtherSide } from '../runtime/connection-fault.ts';
import type { Http, HttpAnswer } from '../runtime/http-client.ts';
import { errorCodeIn, MAX_ANSWER_BYTES, readTokenAnswer, TOKEN_TIMEOUT_MS } from './token-answer.ts';
import type { ObtainedToken } from './token-source.ts';

export type ClientCredentials = {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecretFile: string;
  readonly scope: string | undefined;
  /** The variables' common beginning, for errors: `KAFKA_OAUTH`. */
  readonly prefix: string;
};

/**
 * Asks a token endpoint for a token (RFC 6749, 4.4), the client identified by HTTP Basic (2.3.1). The secret is read again each time.
 * @throws HooklineError ACCESS_TOKEN_REFUSED, ACCESS_TOKEN_UNAVAILABLE, CREDENTIALS_INVALID
 */
export async function requestByCredentials(
  http: Http,
  { tokenUrl, clientId, clientSecretFile, scope, prefix }: ClientCredentials,
): Promise<ObtainedToken> {
  const secret = secretIn({ variable: `${prefix}_CLIENT_SECRET_FILE`, path: clientSecretFile });
  const form = new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) });
  const identity = Buffer.from(`${formEncoded(clientId)}:${formEncoded(secret)}`).toString('base64');
  const answer = await send(http, { tokenUrl, prefix, identity, body: form.toString() });
  const read = readTokenAnswer(answer);
  if (!('fault' in read)) return read;
  const code = errorCodeIn(answer.body);
  const detail = `${tokenUrl}: ${read.fault}${code === undefined ? '' : `, ${code}`}`;
  if (!read.isRefusal) throw new HooklineError('ACCESS_TOKEN_UNAVAILABLE', detail);
  const remedy = `correct ${prefix}_CLIENT_ID, the content of the file that ${prefix}_CLIENT_SECRET_FILE names, or ${prefix}_SCOPE`;
  throw new HooklineError('ACCESS_TOKEN_REFUSED', detail, { remedy });
}

function secretIn(file: { variable: string; path: string }): string {
  try {
    return passwordIn(readFileSync(file.path), file);
  } catch (error) {
    if (error instanceof HooklineError) throw error;
    // A mounted file that is being replaced may be missing for a moment.
    const why = `${file.variable}, ${file.path}: can't be read (${(error as NodeJS.ErrnoException).code})`;
    throw new HooklineError('ACCESS_TOKEN_UNAVAILABLE', why, { cause: error, remedy: 'mount it there' });
  }
}

async function send(
  http: Http,
  request: { tokenUrl: string; prefix: string; identity: string; body: string },
): Promise<HttpAnswer> {
  const { tokenUrl: url, prefix, identity, body } = request;
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
    authorization: `Basic ${identity}`,
  };
  try {
    return await http.send({
      method: 'POST',
      url,
      headers,
      body,
      timeoutMs: TOKEN_TIMEOUT_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
    });
  } catch (error) {
    const fault = connectionFaultOf(error);
    const { finding, remedy } = fault
      ? explainFault(fault, tokenEndpoint(prefix))
      : { finding: (error as Error).message, remedy: undefined };
    throw new HooklineError('ACCESS_TOKEN_UNAVAILABLE', `${url}: ${finding}`, {
      cause: error,
      ...(remedy !== undefined && { remedy }),
    });
  }
}

const tokenEndpoint = (prefix: string): OtherSide => ({
  name: 'the token endpoint',
  address: `${prefix}_TOKEN_URL`,
  ca: `${prefix}_CA_FILE`,
  useTls: `write https in ${prefix}_TOKEN_URL`,
  useNoTls: `write http in ${prefix}_TOKEN_URL, or give the port that speaks TLS`,
});

/** application/x-www-form-urlencoded, as RFC 6749 has it for user and password. */
const formEncoded = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
