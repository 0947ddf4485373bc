import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError, envReader, nodeSource } from '../../../src/config/env.ts';
import { bodyStoreSettings } from '../../../src/object-store/settings.ts';
import { CHART } from '../../support/generated/chart-readme.ts';
import { ROOT } from '../../support/source-tree.ts';

const schema = JSON.parse(readFileSync(join(ROOT, CHART, 'values.schema.json'), 'utf8'));
const patterns: { pattern: string }[] = schema.properties.bodyStore.properties.address.allOf;

const chartTakes = (address: string) =>
  patterns.every(({ pattern }) => new RegExp(pattern, 'u').test(address));

function processTakes(address: string): boolean {
  const reader = envReader(nodeSource({ BODY_STORE: address }));
  try {
    reader.done(reader.read({ address: bodyStoreSettings.address }));
    return true;
  } catch (error) {
    if (error instanceof ConfigError) return false;
    throw error;
  }
}

const LONG = 'a/'.repeat(127);
/** An address, and whether it is one. */
const ADDRESSES: [address: string, isOne: boolean][] = [
  ['s3://events', true],
  ['s3://events/', true],
  ['s3://events//', true],
  ['s3://events/hookline', true],
  ['s3://events//hookline//', true],
  ["s3://a.b-c/A/b9!_.*'()-", true],
  [`s3://events/${LONG}aa`, true],
  [`s3://events//${LONG}aa//`, true],
  [`s3://events/${LONG}aaa`, false],
  ['s3://events/a b', false],
  ['s3://events/a//b', false],
  ['s3://events/a\nb', false],
  ['s3://events/ä', false],
  ['s3://events/a?b', false],
  ['s3://ev', false],
  ['s3://Events', false],
  ['s3://events-', false],
  [`s3://${'e'.repeat(64)}`, false],
  ['https://events/a', false],
  ['events/a', false],
];

describe('the chart takes an address of an object store that the process takes, and no other:', () => {
  it.each(ADDRESSES)('%j', (address, isOne) => {
    expect([processTakes(address), chartTakes(address)]).toEqual([isOne, isOne]);
  });
});
