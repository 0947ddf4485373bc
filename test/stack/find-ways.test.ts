import { describe, expect, it } from 'vitest';
import { findWays } from './find-ways.ts';

const PARTS = '/nowhere';

describe('finding the ways', () => {
  it('looks no further when the environment names a stack', async () => {
    const env = { KAFKA_BROKERS: 'k:9092', SCHEMA_REGISTRY_URL: 'http://r' };
    const { findings } = await findWays({ env }, PARTS);
    expect(findings.environment.open).toBe(true);
    expect(findings.docker).toMatchObject({ missing: 'It was not looked for.' });
  });

  it('calls half a named stack a slip', async () => {
    await expect(findWays({ env: { KAFKA_BROKERS: 'k:9092' } }, PARTS)).rejects.toThrow(
      'set both of them or neither',
    );
  });

  it('needs no registry where none is wanted', async () => {
    const { findings } = await findWays({ env: { KAFKA_BROKERS: 'k:9092' }, withRegistry: false }, PARTS);
    expect(findings.environment.open).toBe(true);
  });

  it('lets HOOKLINE_STACK go before what the environment names', async () => {
    const env = { KAFKA_BROKERS: 'k:9092', SCHEMA_REGISTRY_URL: 'http://r', HOOKLINE_STACK: 'jvm', PATH: '' };
    const { findings } = await findWays({ env }, PARTS);
    expect(findings).toMatchObject({ wanted: 'jvm', environment: { open: false } });
  });

  it('takes JVM programs where versions are named, whatever else would do', async () => {
    const env = { KAFKA_BROKERS: 'k:9092', HOOKLINE_STACK_KAFKA: '3.9.1', PATH: '' };
    expect((await findWays({ env }, PARTS)).findings).toMatchObject({
      wanted: 'jvm',
      environment: { open: false },
    });
    await expect(findWays({ env: { ...env, HOOKLINE_STACK: 'docker' } }, PARTS)).rejects.toThrow('unset it');
  });

  it('says that Maven is missing where it and the downloads are', async () => {
    const { findings } = await findWays({ env: { PATH: '' }, way: 'jvm' }, PARTS);
    expect(findings.jvm).toMatchObject({
      missing: expect.stringContaining('Maven (mvn) is not on the PATH.'),
    });
  });

  it('refuses another word in HOOKLINE_STACK', async () => {
    await expect(findWays({ env: { HOOKLINE_STACK: 'podman' } }, PARTS)).rejects.toThrow(
      'it can be docker or jvm',
    );
  });
});
