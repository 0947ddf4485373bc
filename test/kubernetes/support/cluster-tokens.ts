import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import kafkajs from 'kafkajs';
import type { KafkaOptions } from '../../stack/kafka-cluster.ts';
import { kubectl } from './kubectl.ts';

export const KAFKA_AUDIENCE = 'kafka';
export const REGISTRY_AUDIENCE = 'registry';

const HANDLER = 'org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler';
const LOGIN = 'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule';
const LISTENER = 'listener.name.tokens';

/** The issuer of the cluster's service account tokens, by the keys that it publishes. */
export class ClusterTokens implements Disposable {
  readonly issuer: string;
  readonly #dir: string;
  readonly #keys: JSONWebKeySet;

  private constructor(issuer: string, keys: JSONWebKeySet) {
    this.issuer = issuer;
    this.#keys = keys;
    this.#dir = mkdtempSync(join(tmpdir(), 'hookline-jwks-'));
    writeFileSync(this.#file, JSON.stringify(keys));
  }

  static async read(): Promise<ClusterTokens> {
    const { issuer } = JSON.parse(await kubectl('get', '--raw', '/.well-known/openid-configuration'));
    return new ClusterTokens(issuer, JSON.parse(await kubectl('get', '--raw', '/openid/v1/jwks')));
  }

  get #file(): string {
    return join(this.#dir, 'jwks.json');
  }

  /** Whether a request to the registry brings a token that the cluster made for it. */
  takes = async (authorization: string | undefined): Promise<boolean> => {
    const options = { issuer: this.issuer, audience: REGISTRY_AUDIENCE };
    const token = authorization?.replace(/^Bearer /, '') ?? '';
    return jwtVerify(token, createLocalJWKSet(this.#keys), options).then(
      () => true,
      () => false,
    );
  };

  /**
   * A broker that takes the cluster's tokens on a port of its own, where a user has the rights that it was given and no
   * others. Connections prove themselves anew after `sessionMs`. Who comes in at the other port may do anything.
   */
  kafka(listener: { host: string; port: number; sessionMs: number }): KafkaOptions {
    const { host: advertisedHost, port, sessionMs } = listener;
    const url = pathToFileURL(this.#file).href;
    return {
      listeners: [{ name: 'TOKENS', port, protocol: 'SASL_PLAINTEXT', advertisedHost }],
      systemProperties: { 'org.apache.kafka.sasl.oauthbearer.allowed.urls': url },
      properties: {
        'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'super.users': 'User:ANONYMOUS',
        [`${LISTENER}.sasl.enabled.mechanisms`]: 'OAUTHBEARER',
        [`${LISTENER}.connections.max.reauth.ms`]: sessionMs,
        [`${LISTENER}.oauthbearer.sasl.server.callback.handler.class`]: HANDLER,
        [`${LISTENER}.oauthbearer.sasl.jaas.config`]: `${LOGIN} required unsecuredLoginStringClaim_sub="unused";`,
        'sasl.oauthbearer.jwks.endpoint.url': url,
        'sasl.oauthbearer.expected.audience': KAFKA_AUDIENCE,
        'sasl.oauthbearer.expected.issuer': this.issuer,
      },
    };
  }

  [Symbol.dispose](): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/** What the jobs that create topics need: everything on Hookline's topics. */
export const rightsToSetUp = (principal: string): kafkajs.AclEntry => ({
  principal,
  host: '*',
  permissionType: kafkajs.AclPermissionTypes.ALLOW,
  resourceType: kafkajs.AclResourceTypes.TOPIC,
  resourceName: 'payments.',
  resourcePatternType: kafkajs.ResourcePatternTypes.PREFIXED,
  operation: kafkajs.AclOperationTypes.ALL,
});
