import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keptBeside } from '../../src/spool/kept-beside.ts';
import { keptRecords } from '../../src/subscriptions/kept-records.ts';
import { until } from '../support/until.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'hookline-kept-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const noFault = (error: unknown) => {
  throw error;
};

describe('a file beside the spool', () => {
  it('gives back what was written last, for its owner alone', () => {
    const file = keptBeside(dir, 'a.json', noFault);
    expect(file.read()).toBeUndefined();
    file.write({ n: 1 });
    file.write({ n: 2 });
    expect(keptBeside(dir, 'a.json', noFault).read()).toEqual({ n: 2 });
    expect(statSync(join(dir, 'a.json')).mode & 0o077).toBe(0);
  });

  it('is nothing where it can not be read, and says where it can not be written', () => {
    writeFileSync(join(dir, 'a.json'), '{"cut');
    expect(keptBeside(dir, 'a.json', noFault).read()).toBeUndefined();
    const faults: unknown[] = [];
    keptBeside(join(dir, 'nowhere'), 'a.json', (error) => faults.push(error)).write({});
    expect(faults).toHaveLength(1);
  });

  it('keeps subscriptions with their sealed keys, the last of several changes', async () => {
    const file = keptBeside(dir, 'subscriptions.json', noFault);
    const record = (ref: string, sealedKeys: Buffer | null) => ({
      ...{ ref, state: 'ACTIVE' as const, subscriptionId: null, receiverUrl: '', events: ['payment-status'] },
      ...{ owner: 'payments.commands', commandId: null, updatedAt: 5, sealedKeys },
    });
    const records = [record('a', Buffer.from([1, 255])), record('b', null)];
    const kept = keptRecords(file);
    kept.keep(() => []);
    kept.keep(() => records);
    await until('they are written', () => file.read() !== undefined);
    expect(keptRecords(file).read()).toEqual([]);
    kept.keep(() => records);
    await until('they are written', () => keptRecords(file).read().length > 0);
    expect(keptRecords(file).read()).toEqual(records);
    kept.stop();
  });
});
