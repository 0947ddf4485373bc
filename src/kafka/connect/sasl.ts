import { readFileSync } from 'node:fs';
import { passwordIn, type RenewalObserver, renewedFrom } from '../../config/renewed-files.ts';
import { HooklineError } from '../../core/errors.ts';
import { MIN_AGE_MS, openTokens, renewBefore, type TokenDeps } from '../../tokens/open-tokens.ts';
import { TOKEN_TIMEOUT_MS } from '../../tokens/token-answer.ts';
import { createTokenCache, type ObtainedToken, type TokenSource } from '../../tokens/token-source.ts';
import type { KafkaSettings } from './settings.ts';

/** How Hookline proves to the brokers who it is. What may change is asked for with each authentication. */
export type Sasl = SaslPassword | SaslToken;

type SaslPassword = {
  readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512';
  readonly username: string;
  readonly password: () => string;
};

export type SaslToken = {
  readonly mechanism: 'OAUTHBEARER';
  readonly tokens: TokenSource;
  /** RFC 7628, 3.1: by their names. */
  readonly extensions: Readonly<Record<string, string>>;
  /** The variables that the token comes from, for errors. */
  readonly variables: string;
};

/**
 * @param given where the token comes from instead, in a thread that has none of its own
 * @throws HooklineError CREDENTIALS_INVALID
 */
export function openSasl(settings: KafkaSettings, deps: TokenDeps, given?: TokenSource): Sasl | undefined {
  const { saslMechanism: mechanism, username, passwordFile, oauthTokenFile, awsRegion } = settings;
  if (mechanism === undefined) return undefined;
  if (mechanism === 'OAUTHBEARER') {
    const from = {
      use: 'kafka' as const,
      prefix: 'KAFKA_OAUTH',
      fileVariable: 'KAFKA_OAUTH_TOKEN_FILE',
      file: oauthTokenFile,
    };
    const tokens = given ?? openTokens(settings, from, deps);
    const variables =
      oauthTokenFile === undefined ? 'KAFKA_OAUTH_CLIENT_ID and KAFKA_OAUTH_SCOPE' : 'KAFKA_OAUTH_TOKEN_FILE';
    const extensions = Object.fromEntries(settings.oauthExtensions);
    return tokens && { mechanism, tokens, extensions, variables };
  }
  if (mechanism === 'AWS_MSK_IAM') {
    const tokens = given ?? mskTokens(awsRegion ?? '', deps);
    const variables = 'the AWS credentials, their policy, and KAFKA_AWS_REGION';
    return { mechanism: 'OAUTHBEARER', tokens, extensions: {}, variables };
  }
  if (username === undefined || passwordFile === undefined) return undefined;
  return { mechanism, username, password: renewedPassword(passwordFile, deps.files) };
}

function renewedPassword(path: string, observer: RenewalObserver): () => string {
  const file = { variable: 'KAFKA_PASSWORD_FILE', path };
  return renewedFrom({
    files: [file],
    read: (one) => readFileSync(one),
    make: ([content]) => passwordIn(content as Buffer, file),
    observer,
  });
}

/** Signed here, by credentials of AWS's default chain: a token of Amazon MSK lives for 15 minutes. */
function mskTokens(region: string, { clock, tokenLog }: TokenDeps): TokenSource {
  const observer = tokenLog?.kafka;
  const obtain = async (): Promise<ObtainedToken> => {
    try {
      // Loaded where it is used: it brings AWS's credential providers.
      const { generateAuthToken } = await import('aws-msk-iam-sasl-signer-js');
      const late = clock.sleep(TOKEN_TIMEOUT_MS, { ref: false }).then(() => {
        throw new Error(`AWS's credentials chain has not answered within ${TOKEN_TIMEOUT_MS} ms`);
      });
      // What loses the race is nobody's failure.
      late.catch(() => {});
      const { token, expiryTime } = await Promise.race([generateAuthToken({ region }), late]);
      return { token, lifetimeS: (expiryTime - clock.wall()) / 1_000 };
    } catch (error) {
      const remedy = "check what AWS's default credentials chain finds in this pod";
      const { message } = error as Error;
      throw new HooklineError('ACCESS_TOKEN_UNAVAILABLE', message, { cause: error, remedy });
    }
  };
  return createTokenCache({
    clock,
    obtain,
    renewBefore,
    keepsFresh: true,
    minAgeMs: MIN_AGE_MS,
    ...(observer && { observer }),
  });
}

/**
 * The first and only message of OAUTHBEARER (RFC 7628, 3.1).
 * @param extensions by their names
 */
export function bearerMessage(token: string, extensions: Readonly<Record<string, string>>): Buffer {
  const further = Object.entries(extensions).map(([name, value]) => `${name}=${value}\x01`);
  return Buffer.from(`n,,\x01auth=Bearer ${token}\x01${further.join('')}\x01`);
}

/**
 * What the brokers answer to it: nothing, or why they do not take the token (RFC 7628, 3.2.2). Neither client tells the two
 * apart: to them an answer is an answer.
 * @returns the status, such as `invalid_token`; undefined where the token is taken
 */
export function refusalIn(answer: Buffer): string | undefined {
  if (answer.length === 0) return undefined;
  const [, status] = /"status"\s*:\s*"([a-z_]{1,64})"/.exec(answer.toString('latin1')) ?? [];
  return status ?? 'refused';
}

/** A broker did not take the token. */
export class TokenRefusedError extends Error {
  constructor(status: string) {
    super(`the token is not taken: ${status}`);
    this.name = 'TokenRefusedError';
  }
}
