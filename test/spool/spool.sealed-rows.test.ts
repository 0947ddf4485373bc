import { createCipheriv, createHash, hkdfSync } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseSealingKeys } from '../../src/crypto/sealing.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { RESERVE_BYTES, RESERVE_NAME } from '../../src/spool/database.ts';
import { Spool } from '../../src/spool/spool.ts';
import { verified } from '../support/delivery-parts.ts';
import { until } from '../support/until.ts';

const MIB = 1024 ** 2;
const ALL = { maxRows: 1_000_000, maxBytes: 1_000 * MIB };
const A = 'a'.repeat(32);
const B = 'b'.repeat(32);
const keysOf = (...lines: string[]) =>
  parseSealingKeys(Buffer.from(lines.join('\n'))) ?? expect.fail('no key');

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'hookline-sealed-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function withSpool<T>(keys: string[], work: (spool: Spool) => Promise<T>): Promise<T> {
  const spool = await Spool.open({
    clock: systemClock,
    dir,
    maxBytes: 256 * MIB,
    ...(keys.length > 0 && { sealingKeys: keysOf(...keys) }),
    onDeath: (error) => {
      throw error;
    },
  });
  try {
    return await work(spool);
  } finally {
    await spool.close();
  }
}

const append = (keys: string[], ...ns: number[]) =>
  withSpool(keys, async (spool) => void (await Promise.all(ns.map((n) => spool.append(row(n))))));
const row = (n: number) => ({
  ...verified(`{"secret":"s3cr3t-${n}"}`),
  traceparent: n % 2 ? '00-ab-cd-01' : undefined,
});
/** What is read: the numbers, a changed one as its negative. */
const read = (keys: string[]) =>
  withSpool(keys, async (spool) => {
    const rows = await spool.read(ALL);
    for (const one of rows) {
      const n = Number(/s3cr3t-(\d+)/.exec(String(one.delivery.body))?.[1]);
      if (!one.isChanged) expect(one.delivery).toEqual(row(n));
    }
    return {
      rows: rows.map(({ id, isChanged }) => (isChanged ? -id : id)),
      keyMissing: spool.state.keyMissing,
      outstanding: spool.outstanding,
    };
  });

function change(sql: string): void {
  const db = new DatabaseSync(join(dir, 'spool.sqlite'));
  db.exec(sql);
  db.close();
}
const raw = (sql: string) => {
  const db = new DatabaseSync(join(dir, 'spool.sqlite'));
  const rows = db
    .prepare(sql)
    .all()
    .map((one) => ({ ...one }));
  db.close();
  return rows;
};
const bytesOnDisk = () =>
  readdirSync(dir)
    .map((name) => readFileSync(join(dir, name), 'latin1'))
    .join('');

/** A file as version 0.1.0 wrote it. */
function writeOldFormat(ns: readonly number[], size = 0): void {
  change(`
    PRAGMA journal_mode = WAL;
    CREATE TABLE deliveries (id INTEGER PRIMARY KEY, ref TEXT NOT NULL, subscription_id TEXT NOT NULL,
      media_type TEXT NOT NULL, received_at INTEGER NOT NULL, traceparent TEXT, body BLOB NOT NULL) STRICT;
    PRAGMA user_version = 1;`);
  const db = new DatabaseSync(join(dir, 'spool.sqlite'));
  const insert = db.prepare('INSERT INTO deliveries VALUES (?, ?, ?, ?, ?, ?, ?)');
  for (const n of ns) {
    const { ref, subscriptionId, mediaType, receivedAt, traceparent, body } = row(n);
    const padded = Buffer.concat([body, Buffer.alloc(size, ' ')]);
    insert.run(n, ref, subscriptionId, mediaType, receivedAt, traceparent ?? null, padded);
  }
  db.close();
}

describe('a spool with a sealing key', () => {
  it('keeps no body in the clear, and gives each back as it was', async () => {
    await append([A], 1, 2, 3);
    expect(bytesOnDisk()).not.toContain('s3cr3t');
    expect(await read([A])).toEqual({ rows: [1, 2, 3], keyMissing: 0, outstanding: 3 });
  });

  it('seals a row of 50 MB', async () => {
    const body = Buffer.alloc(50 * MIB, '0123456789');
    await withSpool([A], async (spool) => {
      await spool.append(verified(body));
      const [found] = await spool.read(ALL);
      expect(found?.isChanged).toBe(false);
      expect(found?.delivery.body.equals(body)).toBe(true);
    });
  });

  it('seals as its format says: HKDF, AES-256-GCM, all other columns authenticated', async () => {
    await append([A], 1);
    const [one = expect.fail()] = raw('SELECT * FROM deliveries');
    const derive = (info: string, bytes: number) =>
      Buffer.from(hkdfSync('sha256', Buffer.from(A), '', info, bytes));
    expect(one.key_id).toBe(derive('hookline spool row key id', 8).toString('hex'));
    const proof = one.proof as Uint8Array;
    const cipher = createCipheriv('aes-256-gcm', derive('hookline spool row key', 32), proof.subarray(0, 12));
    cipher.setAAD(
      Buffer.from(
        JSON.stringify([
          ...['hookline spool row 1', 1, one.ref, one.subscription_id, one.media_type, one.received_at],
          ...[one.traceparent, one.key_id],
        ]),
      ),
    );
    const sealed = Buffer.concat([cipher.update(row(1).body), cipher.final()]);
    expect(Buffer.from(one.body as Uint8Array)).toEqual(sealed);
    expect(Buffer.from(proof.subarray(12))).toEqual(cipher.getAuthTag());
  });

  it.each([
    ['its body', "body = x'7b7d'"],
    ['its ref', "ref = 'other'"],
    ['its subscription', "subscription_id = 'other'"],
    ['its media type', "media_type = 'octet-stream'"],
    ['its time', 'received_at = 9223372036854775807'],
    ['its trace context', "traceparent = 'x'"],
    ['its place', 'id = 9'],
    ['its proof', "proof = x'00'"],
    ['its key removed', 'key_id = NULL'],
    ['its key and proof removed', 'key_id = NULL, proof = NULL'],
  ])('tells a row with %s changed from the others', async (_, change1) => {
    await append([A], 1, 2, 3);
    change(`UPDATE deliveries SET ${change1} WHERE id = 2`);
    const { rows, keyMissing } = await read([A]);
    expect(new Set(rows)).toEqual(new Set([1, 3, change1 === 'id = 9' ? -9 : -2]));
    expect(keyMissing).toBe(0);
  });

  it('counts a plain row that appears later as changed, also one with a checksum of its own', async () => {
    await append([A], 1);
    change(
      `INSERT INTO deliveries (id, ref, subscription_id, media_type, received_at, traceparent, body)
      SELECT 2, ref, subscription_id, media_type, received_at, traceparent, '{}' FROM deliveries;`.replace(
        "'{}'",
        "x'7b7d'",
      ),
    );
    const { ref, subscriptionId, mediaType, receivedAt } = row(0);
    const columns = ['hookline spool row 1', 3, ref, subscriptionId, mediaType, receivedAt, null, null];
    const checksum = createHash('sha256').update(JSON.stringify(columns)).update('{}').digest('hex');
    change(`INSERT INTO deliveries (id, ref, subscription_id, media_type, received_at, proof, body)
      VALUES (3, '${ref}', '${subscriptionId}', '${mediaType}', ${receivedAt}, x'${checksum}', x'7b7d')`);
    expect((await read([A])).rows).toEqual([1, -2, -3]);
  });

  it('opens rows of each live key, and seals with the first', async () => {
    await append([A], 1);
    await append([B, A], 2);
    expect(await read([B, A])).toEqual({ rows: [1, 2], keyMissing: 0, outstanding: 2 });
    expect(new Set(raw('SELECT key_id FROM deliveries').map(({ key_id }) => key_id)).size).toBe(2);
  });

  it('keeps rows whose key is gone, counts them, and passes them by; they open when it is back', async () => {
    await append([A], 1, 2);
    await append([B], 3);
    expect(await read([B])).toEqual({ rows: [3], keyMissing: 2, outstanding: 1 });
    await withSpool([B], async (spool) => {
      const [found] = await spool.read(ALL);
      await spool.remove([found?.id ?? 0]);
      expect([spool.outstanding, spool.state.rows]).toEqual([0, 2]);
      await spool.append(row(4));
    });
    expect(await read([B, A])).toEqual({ rows: [1, 2, 4], keyMissing: 0, outstanding: 3 });
  });

  it.each([[[] as string[]], [[A]]])(
    'leaves a file that 0.1.0 opens when it ends without rows, and one that it refuses with rows (keys: %s)',
    async (keys) => {
      await append(keys, 1);
      const [{ user_version: format } = expect.fail()] = raw('PRAGMA user_version');
      expect(format).toBeGreaterThan(1);
      await withSpool(keys, async (spool) => {
        await spool.remove((await spool.read(ALL)).map(({ id }) => id));
      });
      expect(raw('PRAGMA user_version')).toEqual([{ user_version: 0 }]);
      writeOldFormat([1]);
      expect((await read(keys)).rows).toEqual([1]);
    },
  );

  it('leaves such a file only beside the reserve, with which the next start opens it on a full volume', async () => {
    const reserve = join(dir, RESERVE_NAME);
    await withSpool([], async () => {});
    expect(raw('PRAGMA user_version')).toEqual([{ user_version: 0 }]);
    expect(statSync(reserve).size).toBe(RESERVE_BYTES);
    rmSync(reserve);
    mkdirSync(reserve);
    await withSpool([], async () => {});
    const [{ user_version: format } = expect.fail()] = raw('PRAGMA user_version');
    expect(format).toBeGreaterThan(1);
  });

  it.each([[[] as string[]], [[A]]])('seals what an older format left, once (keys: %s)', async (keys) => {
    writeOldFormat([1, 2, 3, 4, 5], 2 * MIB);
    const numbers = (found: Spool) =>
      found.read(ALL).then((rows) => rows.map(({ id, isChanged }) => (isChanged ? -id : id)));
    expect(await withSpool(keys, numbers)).toEqual([1, 2, 3, 4, 5]);
    const bodies = raw('SELECT body FROM deliveries').map(({ body }) => Buffer.from(body as Uint8Array));
    expect(bodies.some((body) => body.includes('s3cr3t'))).toBe(keys.length === 0);
    change("UPDATE deliveries SET proof = NULL, key_id = NULL, body = x'7b7d' WHERE id = 3");
    expect(await withSpool(keys, numbers)).toEqual([1, 2, -3, 4, 5]);
  });

  it('seals rows that had a checksum, but for those that were changed before', async () => {
    await append([], 1, 2, 3);
    change("UPDATE deliveries SET ref = 'other' WHERE id = 2");
    expect(await withSpool([A], async ({ state }) => state.unproven)).toBe(3);
    expect((await read([A])).rows).toEqual([1, -2, 3]);
    expect(raw('SELECT id FROM deliveries WHERE key_id IS NOT NULL').map(({ id }) => id)).toEqual([1, 3]);
    expect(await withSpool([A], async ({ state }) => state.unproven)).toBe(0);
  });

  it('that is opened without it keeps the sealed rows, and takes new ones', async () => {
    await append([A], 1);
    await append([], 2);
    expect(await read([])).toEqual({ rows: [2], keyMissing: 1, outstanding: 1 });
    expect(await read([A])).toEqual({ rows: [1, 2], keyMissing: 0, outstanding: 2 });
  });
});

describe('a spool without a sealing key', () => {
  it.each(["body = x'7b7d'", "ref = 'other'", 'received_at = 1', 'proof = NULL', "proof = x'00'"])(
    'tells a changed row by its checksum (%s)',
    async (change1) => {
      await append([], 1, 2, 3);
      expect(await read([])).toEqual({ rows: [1, 2, 3], keyMissing: 0, outstanding: 3 });
      change(`UPDATE deliveries SET ${change1} WHERE id = 2`);
      expect((await read([])).rows).toEqual([1, -2, 3]);
    },
  );
});

describe('sealing keys that are renewed while the spool is open', () => {
  it('seal new rows, and open those that waited for them', async () => {
    await append([A], 1);
    await withSpool([B], async (spool) => {
      await spool.append(row(2));
      expect([spool.state.keyMissing, spool.outstanding]).toEqual([1, 1]);
      await spool.renewKeys(keysOf(B, A));
      expect([spool.state.keyMissing, spool.outstanding]).toEqual([0, 2]);
      await spool.append(row(3));
      expect((await spool.read(ALL)).map(({ id }) => id)).toEqual([1, 2, 3]);
      await spool.renewKeys(keysOf(A));
      await spool.append(row(4));
      expect(spool.state.keyMissing).toBe(2);
    });
    expect(await read([A])).toMatchObject({ rows: [1, 4], keyMissing: 2 });
    expect(await read([A, B])).toMatchObject({ rows: [1, 2, 3, 4], keyMissing: 0 });
  });

  it('go while rows are drained: what was read is removed, and the rest is still to be drained', async () => {
    await withSpool([A], async (spool) => {
      for (const n of [1, 2, 3]) await spool.append(row(n));
      const read = await spool.read(ALL);
      await spool.renewKeys(keysOf(B));
      for (const n of [4, 5]) await spool.append(row(n));
      await spool.remove(read.map(({ id }) => id));
      expect([spool.state.keyMissing, spool.outstanding]).toEqual([0, 2]);
    });
  });

  it('while the disk fails are in use when it is well again, and that is told', async () => {
    await append([A], 1);
    await withSpool([B], async (spool) => {
      let told = 0;
      spool.onKeysRenewed(() => {
        told += spool.outstanding;
      });
      renameSync(dir, `${dir}.gone`);
      writeFileSync(dir, 'no folder');
      await expect(spool.renewKeys(keysOf(B, A))).rejects.toMatchObject({ code: 'SPOOL_FAILING' });
      expect([spool.keyRenewals, told]).toEqual([0, 0]);
      rmSync(dir);
      renameSync(`${dir}.gone`, dir);
      await until('the disk is well', () => spool.trouble === null);
      expect([spool.keyRenewals, told, spool.state.keyMissing]).toEqual([1, 1, 0]);
      await spool.renewKeys(keysOf(B));
      expect([spool.keyRenewals, told, spool.state.keyMissing]).toEqual([2, 1, 1]);
    });
  });
});
