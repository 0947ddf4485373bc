import { describe, expect, it } from 'vitest';
import type { Registry } from '../../src/avro/registry.ts';
import { resolveIdsOrCached } from '../../src/avro/resolve-ids.ts';
import { type ErrorCode, HooklineError } from '../../src/core/errors.ts';
import type { CacheFile } from '../../src/runtime/startup-cache.ts';
import { ownEventSchemas } from '../support/event-schemas.ts';

const schemas = ownEventSchemas().all;
const [first = expect.fail('no schema'), ...others] = schemas;

/** A file in memory: what is kept is JSON all the same. */
function memory(text = ''): CacheFile & { text: string } {
  const file = {
    text,
    read<T>(check: (content: unknown) => T): T | undefined {
      try {
        return check(JSON.parse(file.text));
      } catch {
        return undefined;
      }
    },
    write: (content: unknown) => {
      file.text = JSON.stringify(content);
    },
  };
  return file;
}

const registry = (failure?: ErrorCode) =>
  ({
    idOf: async (subject: string) => {
      if (failure) throw new HooklineError(failure);
      return subject.length;
    },
  }) as unknown as Registry;

async function resolve(kept: ReturnType<typeof memory>, failure?: ErrorCode, wanted = schemas) {
  const said: unknown[] = [];
  const parts = {
    registry: registry(failure),
    prefix: 'payments',
    cache: kept,
    onCached: (e: unknown) => said.push(e),
  };
  const ids = await resolveIdsOrCached(parts, wanted);
  return { id: ids.of(wanted[0] ?? first), said };
}

describe('schema ids that are kept', () => {
  it('serve a later start while the registry is unavailable', async () => {
    const kept = memory();
    const { id } = await resolve(kept);
    for (const code of ['REGISTRY_UNAVAILABLE', 'REGISTRY_REFUSED'] as const) {
      expect(await resolve(kept, code)).toEqual({ id, said: [expect.objectContaining({ code })] });
    }
  });

  it('do not serve where the registry answers that a schema is missing', async () => {
    const kept = memory();
    await resolve(kept);
    await expect(resolve(kept, 'SCHEMA_NOT_REGISTERED')).rejects.toMatchObject({
      code: 'SCHEMA_NOT_REGISTERED',
    });
  });

  it('do not serve a schema that has changed since, nor one that is new', async () => {
    const kept = memory();
    await resolve(kept);
    kept.text = kept.text.replace('eventId', 'eventIt');
    await expect(resolve(kept, 'REGISTRY_UNAVAILABLE')).rejects.toMatchObject({
      code: 'REGISTRY_UNAVAILABLE',
    });
    await resolve(kept, undefined, others);
    await expect(resolve(kept, 'REGISTRY_UNAVAILABLE')).rejects.toMatchObject({
      code: 'REGISTRY_UNAVAILABLE',
    });
  });

  it.each(['', '{}', '[null]', '[1,null,{"id":"x"}]', '[{"subject":"s","schema":"{}","id":1.5}]'])(
    'do not serve out of a file that holds %j',
    async (text) => {
      await expect(resolve(memory(text), 'REGISTRY_UNAVAILABLE')).rejects.toMatchObject({
        code: 'REGISTRY_UNAVAILABLE',
      });
    },
  );
});
