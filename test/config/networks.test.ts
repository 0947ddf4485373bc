import { describe, expect, it } from 'vitest';
import { envReader, nodeSource } from '../../src/config/env.ts';
import { listenAddress, sourceOf } from '../../src/config/networks.ts';

describe('what an address counts as', () => {
  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['::FFFF:cb00:7109', '203.0.113.9'],
    ['2001:db8:1:2::1', '2001:db8:1:2'],
    ['2001:DB8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2'],
    ['2001:db8:0:0:1::', '2001:db8:0:0'],
    ['2001:db8::', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    // Each of these is another IPv4 host behind a translator.
    ['64:ff9b::203.0.113.9', '64:ff9b::cb00:7109'],
    ['64:ff9b::203.0.113.10', '64:ff9b::cb00:710a'],
    // What a proxy may forward.
    ['unknown', 'unknown'],
    ['203.0.113.9:4711', '203.0.113.9'],
    ['[2001:db8:1:2::1]:4711', '2001:db8:1:2'],
    ['', ''],
  ])('%j counts as %j', (address, source) => {
    expect(sourceOf(address)).toBe(source);
  });
});

it('an address to listen on may be in brackets, as in a URL', () => {
  const settings = { host: listenAddress('A_HOST', { about: '', fallback: '::' }) };
  const read = (env: object) => envReader(nodeSource({ ...env })).read(settings).host;
  expect([read({}), read({ A_HOST: '[::1]' }), read({ A_HOST: '::1' }), read({ A_HOST: '0.0.0.0' })]).toEqual(
    ['::', '::1', '::1', '0.0.0.0'],
  );
});
