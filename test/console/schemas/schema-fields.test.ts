import { expect, it } from 'vitest';
import { fieldsOf } from '../../../src/console/schemas/schema-fields.ts';

const RECORD = {
  type: 'record',
  name: 'Event',
  fields: [
    { name: 'eventId', type: 'string' },
    { name: 'source', type: ['null', 'string'], 'confluent:tags': ['PII'] },
    {
      name: 'items',
      pointer: '/payload/items',
      type: [
        'null',
        {
          type: 'array',
          items: {
            type: 'record',
            name: 'Item',
            fields: [
              {
                name: 'id',
                pointer: '/id',
                type: ['null', { type: 'string', 'confluent:tags': ['ACCOUNT'] }],
              },
              { name: 'again', type: ['null', 'Item'] },
            ],
          },
        },
      ],
    },
  ],
} as const;

it('lists the fields of records inside too, with their tags, pointers and drift', () => {
  const fields = fieldsOf(RECORD as never, (field) => (field === 'items[].id' ? 3 : 0));
  expect(fields.slice(0, 4)).toEqual([
    { name: 'eventId', type: 'string', pointer: null, tags: [], drift: 0 },
    { name: 'source', type: 'null or string', pointer: null, tags: ['PII'], drift: 0 },
    { name: 'items', type: 'null or array of record Item', pointer: '/payload/items', tags: [], drift: 0 },
    { name: 'items[].id', type: 'null or string', pointer: '/id', tags: ['ACCOUNT'], drift: 3 },
  ]);
});

it('ends in a record that is within itself', () => {
  expect(fieldsOf(RECORD as never, () => 0).length).toBeLessThan(30);
});
