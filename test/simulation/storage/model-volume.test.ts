import { describe, expect, it } from 'vitest';
import { Actor, Simulation } from '../engine/simulation.ts';
import { ModelSpoolFile, ModelVolume } from './model-volume.ts';

const row = (body: string) => ({
  ref: 'ledger-eu',
  subscriptionId: 's',
  mediaType: 'json' as const,
  receivedAt: 1,
  traceparent: null,
  body: Buffer.from(body),
});
const OPTIONS = { dir: '/spool', maxBytes: 10_000, nextId: 1 };
const ALL = { maxRows: 100, maxBytes: 1_000_000 };

function begin(seed: number) {
  const simulation = new Simulation(seed);
  const volume = new ModelVolume(simulation);
  const open = () => new ModelSpoolFile(volume, OPTIONS);
  const bodies = () =>
    open()
      .read(ALL)
      .map(({ body }) => Buffer.from(body).toString());
  const pass = (ms: number) => simulation.runUntil(simulation.now + ms, () => false);
  simulation.after(0, new Actor('it'), () => {});
  return { volume, open, bodies, pass };
}

describe('a model volume', () => {
  it('keeps what was synced over a crash, and of the rest the first ones, each whole', async () => {
    const outcomes = new Set<string>();
    for (let seed = 0; seed < 40; seed++) {
      const { volume, open, bodies, pass } = begin(seed);
      const file = open();
      file.append([row('a'), row('b')]);
      await pass(100);
      file.append([row('c'), row('d')]);
      file.remove([1]);
      volume.crash();
      outcomes.add(bodies().join(''));
    }
    expect([...outcomes].sort()).toEqual(['ab', 'abcd', 'bcd']);
  });

  it('may keep what it has failed to sync, and writes it again when it is opened', async () => {
    const outcomes = new Set<string>();
    for (let seed = 0; seed < 20; seed++) {
      const { volume, open, bodies, pass } = begin(seed);
      const file = open();
      volume.isFailing = true;
      expect(() => file.append([row('a')])).toThrow(/simulated/);
      expect(open).toThrow(/simulated/);
      volume.isFailing = false;
      outcomes.add(bodies().join(''));
      await pass(100);
      volume.crash();
      expect(outcomes.has(bodies().join(''))).toBe(true);
    }
    expect([...outcomes].sort()).toEqual(['', 'a']);
  });

  it('is full at its limit', () => {
    const { open } = begin(1);
    const file = open();
    file.append([row('x'.repeat(9_000))]);
    expect(() => file.append([row('y'.repeat(900))])).toThrow(/simulated/);
    file.append([row('z')]);
  });
});
