import type { RenewalObserver } from '../config/renewed-files.ts';
import type { Clock } from '../runtime/clock.ts';
import { createHttp } from '../runtime/http-client.ts';
import { named } from '../runtime/tls-files.ts';
import { requestByCredentials } from './client-credentials.ts';
import type { OauthSettings } from './settings.ts';
import { tokenFromFile } from './token-file.ts';
import { createTokenCache, type TokenObserver, type TokenSource, type TokenUse } from './token-source.ts';

export type TokenDeps = {
  readonly clock: Clock;
  readonly files: RenewalObserver;
  /** Of the tokens for the brokers, and of those for the registry. */
  readonly tokenLog?: Readonly<Record<TokenUse, TokenObserver>>;
};

/**
 * A token is replaced when a third of its life is left, or five minutes. A session with a broker lasts no longer than the
 * token that began it, and kafkajs begins no session shorter than a few seconds.
 */
export const renewBefore = (lifetimeS: number): number => Math.min(lifetimeS / 3, 300);

/** A token that is not taken is not asked for anew more often than this. */
export const MIN_AGE_MS = 5_000;

/**
 * The tokens that these settings lead to; undefined where they name none.
 * @param from.prefix the beginning of the variables of the token endpoint: `KAFKA_OAUTH`
 * @param from.file a token that something else keeps fresh, with its variable
 */
export function openTokens(
  settings: OauthSettings,
  from: {
    readonly use: TokenUse;
    readonly prefix: string;
    readonly fileVariable: string;
    readonly file: string | undefined;
  },
  { clock, files, tokenLog }: TokenDeps,
): TokenSource | undefined {
  const { oauthTokenUrl, oauthClientId, oauthClientSecretFile, oauthScope, oauthCaFile } = settings;
  const observer = tokenLog?.[from.use];
  const file = named(from.fileVariable, from.file);
  if (file) return tokenFromFile(file, clock, observer);
  if (oauthTokenUrl === undefined || oauthClientId === undefined || oauthClientSecretFile === undefined)
    return undefined;
  const { prefix } = from;
  const tls = { ca: named(`${prefix}_CA_FILE`, oauthCaFile) };
  const http = createHttp({ tls, files, clock, proxy: settings });
  const credentials = {
    tokenUrl: oauthTokenUrl,
    clientId: oauthClientId,
    clientSecretFile: oauthClientSecretFile,
    scope: oauthScope,
    prefix,
  };
  return createTokenCache({
    clock,
    renewBefore,
    keepsFresh: true,
    minAgeMs: MIN_AGE_MS,
    obtain: () => requestByCredentials(http, credentials),
    ...(observer && { observer }),
  });
}
