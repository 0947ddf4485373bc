import { describe, expect, it } from 'vitest';
import {
  ConfigError,
  envReader,
  flag,
  integer,
  list,
  MAX_TIMER_MS,
  milliseconds,
  oneOf,
  optional,
  path,
  type Setting,
  text,
  url,
} from '../../src/config/env.ts';

/** The value of X, or the fault behind its name. */
function read<T>(setting: Setting<T>, value: string | undefined, unreadable: string[] = []): unknown {
  const reader = envReader({
    env: { [setting.name]: value },
    fileFault: (file) => (unreadable.includes(file) ? 'ENOENT' : null),
  });
  const { it } = reader.read({ it: setting });
  try {
    reader.done({});
    return it;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return `FAULT ${error.faults.join(' ')}`;
  }
}

const about = 'what it is';
const fault = (text: string) => expect.stringMatching(new RegExp(`^FAULT X ${text}`));

describe('a whole number', () => {
  const port = integer('X', { about, min: 1, max: 65_535 });
  it.each([
    ['1', 1],
    ['65535', 65_535],
    ['0080', 80],
  ])('is read from %j', (given, value) => {
    expect(read(port, given)).toBe(value);
  });
  it.each(['0', '65536', '-1', '1.5', '1e3', '0x10', '1_000', '5 MiB', 'soon', 'NaN', 'Infinity'])(
    'is not %j',
    (given) => {
      expect(read(port, given)).toEqual(fault(`is "${given}": give a whole number from 1 to 65535`));
    },
  );
  it('is not one that a number can not hold', () => {
    expect(read(integer('X', { about }), '9007199254740993')).toEqual(fault('is "9007199254740993"'));
  });
});

describe('milliseconds', () => {
  it('are no more than a timer can be set to: a longer one would end at once', () => {
    expect(read(milliseconds('X', { about }), String(MAX_TIMER_MS))).toBe(MAX_TIMER_MS);
    expect(read(milliseconds('X', { about }), String(MAX_TIMER_MS + 1))).toEqual(fault('is "2147483648"'));
    expect(read(milliseconds('X', { about, min: 1 }), '0')).toEqual(fault('is "0"'));
  });
});

describe('the other kinds', () => {
  it.each<[string, Setting<unknown>, string | undefined, unknown]>([
    ['a flag', flag('X', { about }), 'true', true],
    ['a flag', flag('X', { about }), 'false', false],
    ['a flag', flag('X', { about }), 'TRUE', fault('is "TRUE": give true or false')],
    ['one of several', oneOf('X', { about, values: ['a', 'b'] }), 'b', 'b'],
    ['one of several', oneOf('X', { about, values: ['a', 'b'] }), 'c', fault('is "c": give one of a, b')],
    ['a list', list('X', { about }, (one) => one), ' a, b,,c ', ['a', 'b', 'c']],
    ['a list', list('X', { about }, (one) => one), ' , ', fault('is ",": give one or more')],
    ['a list', list('X', { about }, (one) => one), undefined, fault('is not set: what it is')],
    ['a list', list('X', { about, fallback: '' }, (one) => one), undefined, []],
    ['a text', text('X', { about }), '  ', fault('is not set: what it is')],
    ['a text', optional(text('X', { about })), undefined, undefined],
    ['an address', url('X', { about }), 'https://a.example/b//', 'https://a.example/b'],
    ['an address', url('X', { about }), 'ftp://a', fault('is "ftp://a": give an http or https address')],
    ['an address', url('X', { about }), 'http:a', fault('is "http:a": give an http')],
    ['an address', url('X', { about }), 'a:8080', fault('is "a:8080": give an http')],
    ['an address', url('X', { about }), 'http://a/?b=c', fault('has a query: give an address without')],
    ['an address', url('X', { about }), 'http://a/#b?', fault('has a fragment: give an address without')],
    ['an address', url('X', { about }), 'http://a?', fault('has a query: give an address without')],
    ['an address', url('X', { about }), 'http://a/#', fault('has a fragment: give an address without')],
    ['an address', url('X', { about }), 'HTTPS://A.example/b', 'https://A.example/b'],
    ['an address', url('X', { about }), 'ftp://a/?k=secret', fault('is "ftp://a/\\?…": give an http')],
    ['an address', url('X', { about }), 'https://u:Ab3/xY9kQ@r.example', fault('carries credentials')],
    [
      'an address',
      url('X', { about }),
      'https://a.example/t/ops@b.example/v1',
      'https://a.example/t/ops@b.example/v1',
    ],
    ['a path', path('X', { about }), '/etc/ca.pem', '/etc/ca.pem'],
  ])('%s, %#', (_, setting, given, value) => {
    expect(read(setting, given)).toEqual(value);
  });
});

describe('a secret that is put in the wrong place', () => {
  it.each([
    'http://user:hunter2@a',
    'user:hunter2@a',
    'user:hunter2@a:8081/x',
    'ftp://user:hunter2@a',
    'http://hunter2@a',
    'http://user:hunter2@[a',
  ])('is not told: the credentials in the address %s', (given) => {
    expect(read(url('X', { about }), given)).toEqual(
      'FAULT X carries credentials: they go into their own variables.',
    );
  });

  it('is not told: the secret in place of its path', () => {
    const key = path('SEALING_KEY_FILE', { about });
    expect(read(key, 'aHVudGVyMg==', ['aHVudGVyMg=='])).toBe(
      "FAULT SEALING_KEY_FILE names a file which can't be read (ENOENT): mount it there or correct the path.",
    );
  });

  it('but a path is', () => {
    const key = path('SEALING_KEY_FILE', { about });
    expect(read(key, '/secrets/key', ['/secrets/key'])).toContain(
      'names "/secrets/key", which can\'t be read (ENOENT)',
    );
    const ca = path('KAFKA_CA_FILE', { about });
    expect(read(ca, 'ca.pem', ['ca.pem'])).toContain('names "ca.pem", which can\'t be read (ENOENT)');
  });
});
