import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { AvroSchema } from '../../src/avro/avro-schema.ts';
import { incompatibilities } from '../../src/avro/compatibility.ts';
import { changed, randomRecord, seeded } from './schema-changes.ts';

const DIRECTIONS = ['BACKWARD', 'FORWARD'] as const;

/** What the generator makes of one schema is often no schema, as when a name loses what it stands for. */
const TRIES_EACH = 20;

/**
 * Declares a test that compares our verdicts on generated changes with a real registry's. A change counts if the registry
 * takes it for a schema: the others have no verdict.
 */
export function agreesWithRegistry(
  url: () => string,
  { bases, changesEach }: { bases: number; changesEach: number },
) {
  const changes = bases * changesEach;
  it(`agree with the registry on ${changes} generated changes, in both directions`, async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const random = seeded(seed);
    const differences: string[] = [];
    const verdicts = { compatible: 0, not: 0 };
    let counted = 0;
    for (let base = 0; base < bases; base++) {
      const before = randomRecord(random);
      const subjects = DIRECTIONS.map((direction) => ({ direction, subject: `diff-${randomUUID()}` }));
      for (const { direction, subject } of subjects) await register(url(), subject, before, direction);
      for (let tries = 0; tries < TRIES_EACH * changesEach && counted < (base + 1) * changesEach; tries++) {
        const after = changed(random, before);
        const found = await Promise.all(
          subjects.map(async ({ direction, subject }) => {
            const theirs = await isCompatible(url(), subject, after);
            const ours =
              direction === 'BACKWARD' ? incompatibilities(after, before) : incompatibilities(before, after);
            return { direction, theirs, ours: ours.length === 0 };
          }),
        );
        if (found.some(({ theirs }) => theirs !== null)) counted++;
        for (const { direction, theirs, ours } of found) {
          if (theirs === null) continue;
          verdicts[theirs ? 'compatible' : 'not']++;
          if (ours !== theirs)
            differences.push(
              `${direction}: registry ${theirs}, ours ${ours}\n  ${JSON.stringify(before)}\n  ${JSON.stringify(after)}`,
            );
        }
      }
    }
    expect(differences.slice(0, 3), `seed ${seed}, ${differences.length} differences`).toEqual([]);
    expect(counted, `seed ${seed}`).toBe(changes);
    expect(verdicts.compatible, `seed ${seed}`).toBeGreaterThan(changes / 5);
    expect(verdicts.not, `seed ${seed}`).toBeGreaterThan(changes / 5);
  }, 300_000);
}

async function send(method: string, url: string, body: unknown): Promise<{ status: number; json: unknown }> {
  const headers = { 'content-type': 'application/vnd.schemaregistry.v1+json' };
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) });
  return { status: response.status, json: await response.json().catch(() => null) };
}

async function register(
  url: string,
  subject: string,
  schema: AvroSchema,
  compatibility: string,
): Promise<void> {
  const { status, json } = await send('POST', `${url}/subjects/${subject}/versions`, {
    schema: JSON.stringify(schema),
  });
  if (status !== 200)
    throw new Error(`register: ${status} ${JSON.stringify(json)} ${JSON.stringify(schema)}`);
  await send('PUT', `${url}/config/${subject}`, { compatibility });
}

async function isCompatible(url: string, subject: string, schema: AvroSchema): Promise<boolean | null> {
  const path = `${url}/compatibility/subjects/${subject}/versions/latest`;
  const { status, json } = await send('POST', path, { schema: JSON.stringify(schema) });
  return status === 200 ? (json as { is_compatible: boolean }).is_compatible : null;
}
