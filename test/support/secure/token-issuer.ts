import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  type CryptoKey,
  createLocalJWKSet,
  exportJWK,
  generateKeyPair,
  type JWK,
  jwtVerify,
  SignJWT,
} from 'jose';

export const CLIENT_ID = 'hookline';
export const AUDIENCE = 'payments';

/** What a request for a token is answered with, instead of a token. */
export type Refusal = { readonly status: number; readonly body: string };

/** An identity provider: a token endpoint (RFC 6749, client credentials) and the public keys of its tokens (RFC 7517). */
export class TokenIssuer implements AsyncDisposable {
  /** The secret that the client has now. */
  secret: string;
  /** How long tokens live, in seconds. */
  lifetimeS = 60;
  /** Answers every request for a token with it. */
  refusal: Refusal | undefined;
  readonly port: number;
  /** Who its tokens are for. */
  audience = AUDIENCE;
  /** Requests for tokens, refused ones too. */
  readonly requests: URLSearchParams[] = [];
  #server: Server | undefined;
  #keys: { readonly kid: string; readonly privateKey: CryptoKey; readonly jwk: JWK }[] = [];

  private constructor(server: Server, secret: string) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    this.secret = secret;
  }

  static async start(secret: string): Promise<TokenIssuer> {
    const server = createServer();
    await listen(server, 0);
    const issuer = new TokenIssuer(server, secret);
    issuer.#answerOn(server);
    await issuer.rotateKey();
    return issuer;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get tokenUrl(): string {
    return `${this.url}/oauth2/token`;
  }

  get jwksUrl(): string {
    return `${this.url}/keys`;
  }

  /** Signs with a new key from now on. Tokens of the one before stay valid unless it is `withdrawn`. */
  async rotateKey({ withdrawn = false } = {}): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair('RS256');
    const kid = randomUUID();
    const jwk = { ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' };
    this.#keys = [{ kid, privateKey, jwk }, ...(withdrawn ? [] : this.#keys.slice(0, 1))];
  }

  /** A token as the token endpoint gives them. */
  async token(subject = CLIENT_ID, lifetimeS = this.lifetimeS): Promise<string> {
    const [key] = this.#keys;
    if (!key) throw new TypeError('no key yet');
    const now = Math.floor(Date.now() / 1_000);
    return new SignJWT({ scope: 'kafka' })
      .setProtectedHeader({ alg: 'RS256', kid: key.kid })
      .setIssuer(this.url)
      .setAudience(this.audience)
      .setSubject(subject)
      .setIssuedAt(now)
      .setExpirationTime(now + lifetimeS)
      .setJti(randomUUID())
      .sign(key.privateKey);
  }

  /** Whether it would answer a request that shows this as its Authorization. */
  async takes(authorization: string | undefined): Promise<boolean> {
    const keys = createLocalJWKSet({ keys: this.#keys.map(({ jwk }) => jwk) });
    const token = /^Bearer (.+)$/.exec(authorization ?? '')?.[1] ?? '';
    return jwtVerify(token, keys, { audience: AUDIENCE, issuer: this.url }).then(
      () => true,
      () => false,
    );
  }

  /** Nothing answers at its address any more. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    server?.closeAllConnections();
    if (server) await new Promise((resolve) => server.close(resolve));
  }

  /** Answers again, at the same address. */
  async resume(): Promise<void> {
    if (this.#server) return;
    const server = createServer();
    this.#answerOn(server);
    await listen(server, this.port);
    this.#server = server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #answerOn(server: Server): void {
    server.on('request', async (request, response) => {
      const { status, body } = await this.#answer(request);
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    });
  }

  async #answer(request: IncomingMessage): Promise<Refusal> {
    if (request.url === '/keys')
      return { status: 200, body: JSON.stringify({ keys: this.#keys.map(({ jwk }) => jwk) }) };
    if (request.url !== '/oauth2/token' || request.method !== 'POST') return { status: 404, body: '{}' };
    const form = new URLSearchParams(await text(request));
    this.requests.push(form);
    if (this.refusal) return this.refusal;
    // RFC 6749, 2.3.1: both are form-encoded before they are joined.
    const [user, secret] = [CLIENT_ID, this.secret].map((part) =>
      new URLSearchParams({ '': part }).toString().slice(1),
    );
    const expected = `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`;
    if (digest(request.headers.authorization ?? '') !== digest(expected))
      return {
        status: 401,
        body: '{"error":"invalid_client","error_description":"unknown client or secret"}',
      };
    if (form.get('grant_type') !== 'client_credentials')
      return { status: 400, body: '{"error":"unsupported_grant_type"}' };
    const token = { access_token: await this.token(), token_type: 'Bearer', expires_in: this.lifetimeS };
    return { status: 200, body: JSON.stringify(token) };
  }
}

const digest = (value: string) => createHash('sha256').update(value).digest('hex');

const listen = (server: Server, port: number) =>
  new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
