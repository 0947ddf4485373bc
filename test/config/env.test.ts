import { describe, expect, it } from 'vitest';
import {
  ConfigError,
  type EnvSource,
  envReader,
  Fault,
  integer,
  optional,
  path,
  setting,
  text,
} from '../../src/config/env.ts';
import { faultsOf } from '../support/faults-of.ts';

const source = (env: EnvSource['env']): EnvSource => ({ env, fileFault: () => null });

const settings = {
  name: text('NAME', { about: 'what it is called' }),
  port: integer('PORT', { about: 'where it listens', fallback: '8080' }),
  note: optional(text('NOTE', { about: 'anything' })),
};

describe('the environment', () => {
  it('is read into values, defaults included, frozen', () => {
    const reader = envReader(source({ NAME: ' x ', NOTE: ' ' }));
    const config = reader.done({ main: reader.read(settings) });
    expect(config).toEqual({ main: { name: 'x', port: 8080, note: undefined } });
    expect([Object.isFrozen(config), Object.isFrozen(config.main)]).toEqual([true, true]);
  });

  it('has no fault of several values where one of them is faulty by itself: that is the cause', () => {
    const reader = envReader(source({ NAME: 'x', PORT: 'x' }));
    reader.read(settings);
    reader.fault('PORT and NOTE go together.', ['PORT', 'NOTE']);
    reader.fault('NAME and NOTE go together.', ['NAME', 'NOTE']);
    expect(faultsOf(() => reader.done({}))).toEqual([
      expect.stringMatching(/^PORT is "x"/),
      'NAME and NOTE go together.',
    ]);
  });

  it('is told of with every fault at once, those of several values together as well, each once', () => {
    const reader = envReader(source({ PORT: 'x' }));
    reader.read(settings);
    reader.read({ again: settings.port });
    reader.fault('NAME and NOTE go together.');
    const faults = faultsOf(() => reader.done({}));
    expect(faults).toEqual([
      'NAME is not set: what it is called.',
      expect.stringMatching(/^PORT is "x": give a whole number/),
      'NAME and NOTE go together.',
    ]);
    expect(new ConfigError(faults).message).toBe(`The configuration has 3 faults:\n  ${faults.join('\n  ')}`);
    expect(new ConfigError(['one.']).message).toBe('The configuration has a fault:\n  one.');
  });

  it('hands on an error that is no fault of the configuration', () => {
    const broken = setting('X', { about: 'x', fallback: '' }, () => {
      throw new TypeError('ours');
    });
    expect(() => envReader(source({})).read({ broken })).toThrow(TypeError);
    const faulty = setting('X', { about: 'x', fallback: '' }, () => {
      throw new Fault('is odd.');
    });
    const reader = envReader(source({}));
    reader.read({ faulty });
    expect(faultsOf(() => reader.done({}))).toEqual(['X is odd.']);
  });

  it.each(['KAFKA_PASSWORD', 'CLIENT_SECRET', 'ACCESS_TOKEN', 'SEALING_KEY', 'PROVIDER_JWT'])(
    'may not hold the secret %s itself, and the fault does not tell it',
    (name) => {
      const reader = envReader(source({ [name]: 'hunter2', [`${name}_FILE`]: '/file' }));
      reader.read({ secret: path(`${name}_FILE`, { about: 'x' }) });
      expect(faultsOf(() => reader.done({}))).toEqual([
        `${name} is a secret and is read from a file only: write it to a file and set ${name}_FILE.`,
      ]);
    },
  );

  it('may hold an empty variable of a secret: empty is unset', () => {
    const reader = envReader(source({ KAFKA_PASSWORD: '', KAFKA_PASSWORD_FILE: '/file' }));
    expect(reader.read({ secret: path('KAFKA_PASSWORD_FILE', { about: 'x' }) })).toEqual({ secret: '/file' });
    expect(faultsOf(() => reader.done({}))).toEqual([]);
  });
});
