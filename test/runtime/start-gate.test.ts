import { describe, expect, it } from 'vitest';
import { createProbes } from '../../src/runtime/admin-server.ts';
import { createStartGate } from '../../src/runtime/start-gate.ts';
import { capturedLog } from '../support/captured-log.ts';

const SOON = { firstMs: 1, factor: 1, maxMs: 1 };

function openGate(backoff = SOON) {
  const controller = new AbortController();
  const probes = createProbes();
  const log = capturedLog();
  const gate = createStartGate({ logger: log.logger, probes, stopping: controller.signal, backoff });
  return { gate, controller, log, probes, readiness: () => probes.readiness().reasons.start };
}

/** Fails with these, one after the other, then succeeds; `seen` is asked before each attempt. */
function failing(errors: readonly unknown[], seen: () => void = () => {}) {
  const left = [...errors];
  return async () => {
    seen();
    if (left.length > 0) throw left.shift();
    return 'there';
  };
}

describe('the start gate', () => {
  it('keeps a process unready until it opens, and says what is waited for and why', async () => {
    const { gate, readiness } = openGate();
    expect(readiness()).toBe('starting');
    const seen: (string | undefined)[] = [];
    const attempt = failing([new Error('http://registry:8081 refused')], () => seen.push(readiness()));
    expect(await gate.pass('the schema registry', attempt)).toBe('there');
    expect(seen).toEqual([
      'waiting for the schema registry',
      'waiting for the schema registry: http://registry:8081 refused',
    ]);
    expect(readiness()).toBe('starting');
    gate.open();
    expect(readiness()).toBeUndefined();
  });

  it('logs each reason once, those that take turns as well, and that it waits no longer', async () => {
    const { gate, log } = openGate();
    const one = new Error('broker 1: refused');
    const two = new Error('broker 2: refused');
    await gate.pass('the brokers at a:9092', failing([one, two, one, two, 'odd', undefined]));
    expect(log.lines().map(({ level, msg }) => [level, msg])).toEqual([
      ['warn', 'waiting for the brokers at a:9092: broker 1: refused'],
      ['warn', 'waiting for the brokers at a:9092: broker 2: refused'],
      ['warn', 'waiting for the brokers at a:9092: odd'],
      ['warn', 'waiting for the brokers at a:9092: undefined'],
      ['info', 'no longer waiting for the brokers at a:9092'],
    ]);
  });

  it('says nothing where there was nothing to wait for', async () => {
    const { gate, log } = openGate();
    await gate.pass('topics', failing([]));
    expect(log.lines()).toEqual([]);
  });

  it('ends the start with an error that waiting can not fix', async () => {
    const { gate } = openGate();
    const isFinal = (error: unknown) => (error as Error).message === 'bad credentials';
    const passed = gate.pass(
      'the registry',
      failing([new Error('unavailable'), new Error('bad credentials')]),
      isFinal,
    );
    await expect(passed).rejects.toThrow('bad credentials');
  });

  it('gives up at once when the process stops', async () => {
    const { gate, controller } = openGate({ firstMs: 3_600_000, factor: 1, maxMs: 3_600_000 });
    const attempt = failing([new Error('unavailable')], () => void setImmediate(() => controller.abort()));
    await expect(gate.pass('the brokers', attempt)).rejects.toThrow('aborted');
  });

  it('takes readiness back with the signal to stop, not with the end', () => {
    const { gate, controller, probes } = openGate();
    gate.open();
    expect(probes.readiness()).toEqual({ ok: true, reasons: {} });
    controller.abort();
    expect(probes.readiness()).toEqual({ ok: false, reasons: { stop: 'stopping' } });
    expect(probes.liveness().ok).toBe(true);
  });
});
