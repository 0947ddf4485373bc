import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { OWN_TOPICS } from '../../../src/core/names.ts';
import { field, ownEventSchemas, schemaText } from '../event-schemas.ts';
import { ROOT } from '../source-tree.ts';
import type { Property } from './contract-properties.ts';
import { CONTRACTS, contractOf, contracts } from './contracts.ts';

const exampleOf = (fields: readonly object[] = [], attributes: object = {}) =>
  contractOf({ name: 'events/example.avsc', text: schemaText(fields, attributes) });

const propertyOf = ({ schema }: ReturnType<typeof contractOf>, name: string) =>
  schema[0]?.properties.find((one) => one.name === name) ?? expect.fail(`no property ${name}`);

const ofTopic = (topic: string) => parse(contracts()[`${CONTRACTS}/${topic}.odcs.yaml`]?.() ?? '');

describe('the data contracts', () => {
  it('are one for each topic that holds Avro, and none for others', () => {
    const { commands, results, subscriptions } = OWN_TOPICS;
    const topics = [...ownEventSchemas().all.map(({ topic }) => topic), commands, results, subscriptions];
    const files = readdirSync(join(ROOT, CONTRACTS));
    expect(files.sort()).toEqual(topics.map((topic) => `${topic}.odcs.yaml`).sort());
    expect(
      Object.keys(contracts())
        .map((path) => basename(path))
        .sort(),
    ).toEqual(files);
  });

  // By Python: uuid.uuid5(uuid.NAMESPACE_URL, 'urn:hookline:topic:payments.payment-status').
  it.each([
    ['payment-status', 'f2ae156d-b866-5b52-b8bf-cef0392fdf29'],
    ['accounts-entries', '3ac96140-5370-5d7b-b337-d8a473686204'],
    ['subscriptions', '7019fd37-197f-5ba6-bfd0-f1c95e437efd'],
  ])('of %s has an id that follows from its name', (topic, id) => {
    expect(ofTopic(topic).id).toBe(id);
  });

  it.each([
    ['command-results', { value: 30, unit: 'd' }],
    ['commands', { value: 7, unit: 'd' }],
    ['subscriptions', { value: null, description: expect.stringMatching(/^Compacted/) }],
    ['payment-status', { value: null, description: expect.stringMatching(/^The default of the cluster/) }],
  ])('of %s says how long records are kept', (topic, retention) => {
    expect(ofTopic(topic).slaProperties).toEqual([
      { property: 'retention', driver: 'operational', ...retention },
    ]);
  });
});

describe('a schema file', () => {
  it('names who owns its events, and its version', () => {
    expect(exampleOf()).toMatchObject({ team: { name: 'hookline-operators' }, version: '1.0.0' });
    const named = exampleOf([], { owner: 'treasury', version: '1.1.0' });
    expect(named).toMatchObject({ team: { name: 'treasury' }, version: '1.1.0' });
    expect(named.team).not.toHaveProperty('description');
    expect(() => exampleOf([], { owner: 7 })).toThrow('example: owner must be a text');
  });

  it.each([
    ['keep', '(source IS NULL) = (sourceRef IS NULL)'],
    ['reference', 'source IS NOT NULL OR sourceRef IS NULL'],
    ['omit', 'source IS NOT NULL'],
  ])('whose source is %s has a rule for it', (source, wrong) => {
    const [schema] = exampleOf([], { source }).schema;
    const rules = schema?.quality as readonly { id: string; query?: string }[];
    const query = rules.find(({ id }) => id === 'message-is-somewhere')?.query;
    expect(query?.split(' WHERE ')[1]).toBe(wrong);
  });

  it('allows only the spellings of its type; one that claims no type allows all', () => {
    const known = { metric: 'invalidValues', arguments: { validValues: ['a', 'b'] } };
    const claiming = propertyOf(exampleOf([], { eventTypes: ['a', 'b'] }), 'type');
    expect(claiming.quality).toContainEqual(expect.objectContaining(known));
    expect(propertyOf(exampleOf([], { eventTypes: [] }), 'type')).not.toHaveProperty('quality');
  });
});

describe('a field', () => {
  const typed = (type: unknown) =>
    propertyOf(exampleOf([{ ...field('a', 'string'), type: ['null', type] }]), 'a');

  it.each([
    ['string', 'string', 'string'],
    ['boolean', 'boolean', 'boolean'],
    ['int', 'integer', 'int'],
    ['long', 'integer', 'long'],
    ['float', 'number', 'float'],
    ['double', 'number', 'double'],
    [{ type: 'long', logicalType: 'timestamp-millis' }, 'timestamp', 'long'],
    [{ type: 'string' }, 'string', 'string'],
  ])('of %j is a property of the types %s and %s', (type, logicalType, physicalType) => {
    expect(typed(type)).toMatchObject({ logicalType, physicalType, required: false });
  });

  it('of bytes is a string of the format binary: ODCS has no bytes', () => {
    const sealed = ofTopic('subscriptions').schema[0].properties.find(
      ({ name }: Property) => name === 'sealedKeys',
    );
    expect(sealed).toMatchObject({ logicalType: 'string', logicalTypeOptions: { format: 'binary' } });
  });

  it('keeps its depth, what is in its arrays, where its value stands, and whether it is sensitive', () => {
    const iban = {
      ...field('iban', 'string', '/iban'),
      doc: 'An account.',
      'confluent:tags': ['PII', 'BANK'],
    };
    const record = { type: 'record', name: 'Party', fields: [iban], 'confluent:tags': ['PARTY'] };
    const contract = exampleOf([
      field('parties', { type: 'array', items: record }, '/payload/parties'),
      field('notes', { type: 'array', items: ['null', 'string'] }, '/payload/notes'),
    ]);
    expect(contract.tags).toEqual(['hookline', 'event', 'PII', 'PARTY', 'BANK']);
    expect(propertyOf(contract, 'parties')).toMatchObject({ tags: ['PARTY'] });
    const at = (value: string) => [{ property: 'pointer', value }];
    expect(propertyOf(contract, 'parties')).toMatchObject({
      customProperties: at('/payload/parties'),
      items: {
        logicalType: 'object',
        required: true,
        properties: [
          {
            name: 'iban',
            description: 'An account.',
            customProperties: at('/iban'),
            classification: 'confidential',
            tags: ['PII', 'BANK'],
          },
        ],
      },
    });
    expect(propertyOf(contract, 'notes').items).toMatchObject({ logicalType: 'string', required: false });
  });
});
