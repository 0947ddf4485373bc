import { expect, it } from 'vitest';
import { type AvroType, qualify } from '../../src/avro/avro-schema.ts';
import { readTaggedType } from '../../src/avro/tagged-type.ts';

it('the tags of an enum, a fixed, and of a map and its values are read, also by the name of the type', () => {
  const PII = { 'confluent:tags': ['PII'] };
  const { schema, types } = qualify<AvroType>({
    type: 'record',
    name: 'Example',
    fields: [
      { name: 'sex', type: ['null', { type: 'enum', name: 'Sex', symbols: ['F', 'M'], ...PII }] },
      { name: 'other', type: { type: 'map', values: ['null', 'Sex'] } },
      { name: 'hash', type: { type: 'fixed', name: 'Hash', size: 16, ...PII }, ...PII },
      { name: 'all', type: { type: 'map', values: 'long', ...PII } },
    ],
  });
  const tagged = { kind: 'scalar', tags: ['PII'] };
  const fields = new Map<string, object[]>([
    ['sex', [tagged]],
    ['other', [{ kind: 'map', tags: [], values: [tagged] }]],
    ['hash', [{ kind: 'scalar', tags: ['PII', 'PII'] }]],
    ['all', [{ kind: 'map', tags: ['PII'], values: [{ kind: 'scalar', tags: [] }] }]],
  ]);
  expect(readTaggedType(schema, types)).toEqual([{ kind: 'record', tags: [], fields }]);
});
