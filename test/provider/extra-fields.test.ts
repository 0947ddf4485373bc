import { describe, expect, it } from 'vitest';
import { DEFAULT_DIALECT, parseDialect } from '../../src/provider/dialect.ts';
import { fieldsClosedToExtra } from '../../src/provider/extra-fields.ts';

const closed = (dialect: object, operation: 'create' | 'update' | 'replay') =>
  [...fieldsClosedToExtra(parseDialect(JSON.stringify(dialect)), operation)].sort();

describe("a command's extra", () => {
  it('may not set the address, the events or the key, in whichever body', () => {
    for (const operation of ['create', 'update'] as const) {
      expect([...fieldsClosedToExtra(DEFAULT_DIALECT, operation)].sort()).toEqual([
        ...['encryptionKey', 'events', 'url'],
      ]);
    }
    expect(closed({}, 'replay')).toContain('executionId');
  });

  it('may not set what carries them in another body, under the names of the dialect', () => {
    const dialect = {
      create: {
        body: { target: { address: '{url}' }, topics: ['{events}'], label: 'x', secret: '{encryptionKey}' },
      },
      update: { body: { note: 'y' } },
    };
    expect(closed(dialect, 'update')).toEqual([
      ...['encryptionKey', 'events', 'note', 'secret', 'target', 'topics', 'url'],
    ]);
    expect(closed(dialect, 'create')).toContain('label');
    expect(closed(dialect, 'create')).not.toContain('note');
  });

  it('may set what the dialect lets it', () => {
    expect(closed({ extra: { mayReplace: ['encryptionKey', 'url'] } }, 'create')).toEqual(['events']);
  });
});
