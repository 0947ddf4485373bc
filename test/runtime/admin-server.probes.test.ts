import { describe, expect, it } from 'vitest';
import { createProbes } from '../../src/runtime/admin-server.ts';

describe('probes', () => {
  it('are well without a condition', () => {
    const probes = createProbes();
    expect([probes.readiness(), probes.liveness()]).toEqual([
      { ok: true, reasons: {} },
      { ok: true, reasons: {} },
    ]);
  });

  it('give each reason under its name, asked anew each time, and leave out what is well', () => {
    const probes = createProbes();
    let trouble: string | null = 'the brokers do not answer';
    probes.readyWhen('kafka', () => trouble);
    probes.readyWhen('topics', () => null);
    expect(probes.readiness()).toEqual({ ok: false, reasons: { kafka: 'the brokers do not answer' } });
    trouble = null;
    expect(probes.readiness()).toEqual({ ok: true, reasons: {} });
  });

  it('keep liveness and readiness apart: what a restart does not fix never ends a process', () => {
    const probes = createProbes();
    probes.readyWhen('kafka', () => 'unavailable');
    expect(probes.liveness().ok).toBe(true);
    probes.aliveWhen('consumer', () => 'silent for 60 s');
    expect(probes.liveness()).toEqual({ ok: false, reasons: { consumer: 'silent for 60 s' } });
    expect(probes.readiness().reasons).toEqual({ kafka: 'unavailable' });
  });

  it('forget a condition that is taken back, and not the one that has its name by then', () => {
    const probes = createProbes();
    const takeBack = probes.readyWhen('start', () => 'first');
    probes.readyWhen('start', () => 'second');
    takeBack();
    expect(probes.readiness().reasons).toEqual({ start: 'second' });
    probes.readyWhen('spool', () => 'full')();
    expect(probes.readiness().reasons).toEqual({ start: 'second' });
  });

  it('take a check that throws for one that is not well', () => {
    const probes = createProbes();
    probes.readyWhen('odd', () => {
      throw new TypeError('no such thing');
    });
    expect(probes.readiness()).toEqual({
      ok: false,
      reasons: { odd: 'the check failed: no such thing' },
    });
  });
});
