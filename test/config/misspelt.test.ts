import { describe, expect, it } from 'vitest';
import { flag, integer, type Settings, text } from '../../src/config/env.ts';
import { misspelt } from '../../src/config/misspelt.ts';
import { consoleConfig } from '../../src/console/settings/console-config.ts';
import { controlConfig } from '../../src/control/config.ts';
import { ingressConfig } from '../../src/ingress/settings.ts';
import { sandboxSettings } from '../../src/sandbox/config.ts';

const GROUPS = {
  one: {
    user: text('KAFKA_USERNAME', { about: 'user' }),
    ssl: flag('KAFKA_SSL', { about: 'TLS', fallback: 'false' }),
    deadline: integer('PUBLISH_DEADLINE_MS', { about: 'deadline', fallback: '1' }),
  },
};

describe('a variable that looks like a setting', () => {
  it.each([
    ['KAFKA_USERNMAE', 'KAFKA_USERNAME'],
    ['KAFKA_USER_NAME', 'KAFKA_USERNAME'],
    ['kafka_username', 'KAFKA_USERNAME'],
    ['publish-deadline-ms', 'PUBLISH_DEADLINE_MS'],
    ['KAFKA_SLL', 'KAFKA_SSL'],
    ['KAFKA_SASL', 'KAFKA_SSL'],
    ['KAFKA_SEALS', undefined],
    ['KAFKA_SS', 'KAFKA_SSL'],
  ])('is taken for a misspelt one: %s', (variable, meant) => {
    expect(misspelt(GROUPS, { [variable]: 'x' })).toEqual(meant === undefined ? [] : [{ variable, meant }]);
  });

  it('is none where the setting itself is set', () => {
    expect(misspelt(GROUPS, { KAFKA_USERNAME: 'a', KAFKA_USERNAMES: 'b' })).toEqual([]);
  });

  it('is none of another program: what Kubernetes, Node and shells set', () => {
    const others = [
      ...['PATH', 'HOME', 'PWD', 'NODE_OPTIONS', 'NODE_ENV', 'TZ', 'HOSTNAME', 'KUBERNETES_SERVICE_HOST'],
      ...['KAFKA_PORT', 'KAFKA_SERVICE_HOST', 'KAFKA_SERVICE_PORT', 'KAFKA_PORT_9092_TCP_ADDR'],
      ...['SCHEMA_REGISTRY_PORT', 'SCHEMA_REGISTRY_SERVICE_HOST', 'AWS_REGION', 'AWS_ROLE_ARN'],
    ];
    const env = Object.fromEntries(others.map((name) => [name, 'x']));
    for (const groups of [ingressConfig, controlConfig, consoleConfig('payments')])
      expect(misspelt(groups, env)).toEqual([]);
  });

  it('is none where it is a setting of another of our processes', () => {
    const all: Readonly<Record<string, Settings>>[] = [
      ...[ingressConfig, controlConfig, consoleConfig('payments'), { sandbox: sandboxSettings }],
    ];
    const namesOf = (groups: Readonly<Record<string, Settings>>) =>
      Object.values(groups).flatMap((group) => Object.values(group).map(({ name }) => name));
    const env = Object.fromEntries(all.flatMap(namesOf).map((name) => [name, 'x']));
    for (const groups of all)
      for (const name of namesOf(groups)) {
        const { [name]: _, ...rest } = env;
        expect(misspelt(groups, rest), name).toEqual([]);
      }
  });
});
