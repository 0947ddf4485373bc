import { freePorts } from '../../stack/plan-ports.ts';
import type { Stack } from '../../stack/stack.ts';
import { startStack } from '../../stack/start-stack.ts';
import { AUDIENCE, type TokenIssuer } from './token-issuer.ts';

/** One real broker with two ports more: one takes access tokens of an issuer, the other a user and a password. */
export type TokenKafka = AsyncDisposable & {
  readonly stack: Stack;
  /** `host:port` that demands OAUTHBEARER. */
  readonly tokens: string;
  /** `host:port` that demands PLAIN. */
  readonly plain: string;
};

export const PLAIN_USER = 'hookline';
export const PLAIN_PASSWORD = 'correct-horse-battery';

const HANDLER = 'org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler';
const LOGIN = 'org.apache.kafka.common.security';

/** @param options.sessionMs after so long a connection must prove itself anew (connections.max.reauth.ms) */
export async function startTokenKafka(
  issuer: TokenIssuer,
  options: { readonly sessionMs: number; readonly isShortLived?: boolean },
): Promise<TokenKafka> {
  const { sessionMs, isShortLived = true } = options;
  const [tokensPort, plainPort] = (await freePorts(2)) as [number, number];
  const onTokens = 'listener.name.tokens';
  const onPlain = 'listener.name.plain';
  const stack = await startStack({
    env: { ...process.env, HOOKLINE_STACK: 'jvm' },
    withRegistry: false,
    shortLived: isShortLived,
    kafka: {
      listeners: [
        { name: 'TOKENS', port: tokensPort, protocol: 'SASL_PLAINTEXT' },
        { name: 'PLAIN', port: plainPort, protocol: 'SASL_PLAINTEXT' },
      ],
      systemProperties: { 'org.apache.kafka.sasl.oauthbearer.allowed.urls': issuer.jwksUrl },
      properties: {
        [`${onTokens}.sasl.enabled.mechanisms`]: 'OAUTHBEARER',
        [`${onTokens}.connections.max.reauth.ms`]: sessionMs,
        [`${onTokens}.oauthbearer.sasl.server.callback.handler.class`]: HANDLER,
        [`${onTokens}.oauthbearer.sasl.jaas.config`]: `${LOGIN}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="unused";`,
        [`${onPlain}.sasl.enabled.mechanisms`]: 'PLAIN',
        [`${onPlain}.plain.sasl.jaas.config`]: `${LOGIN}.plain.PlainLoginModule required user_${PLAIN_USER}="${PLAIN_PASSWORD}";`,
        'sasl.oauthbearer.jwks.endpoint.url': issuer.jwksUrl,
        'sasl.oauthbearer.expected.audience': AUDIENCE,
        'sasl.oauthbearer.expected.issuer': issuer.url,
      },
    },
  });
  return {
    stack,
    tokens: `127.0.0.1:${tokensPort}`,
    plain: `127.0.0.1:${plainPort}`,
    [Symbol.asyncDispose]: () => stack.stop(),
  };
}
