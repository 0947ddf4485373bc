import { describe, expect, it } from 'vitest';
import { createProbes, observeProcess } from '../../src/runtime/admin-server.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';

function observe(now?: () => number) {
  const metrics = createMetrics();
  const probes = createProbes();
  const observed = observeProcess({ metrics, probes, ...(now && { now }) });
  const scrape = async (name: string) => {
    for (const sample of metrics.samplers) sample();
    const { values } = (await metrics.registry.getSingleMetric(name)?.get()) ?? expect.fail(name);
    return values[0]?.value;
  };
  return { probes, scrape, [Symbol.asyncDispose]: () => observed.stop() };
}

/** Holds the event loop up, as a long computation does. */
function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

describe('a process', () => {
  it('tells whether it is ready', async () => {
    await using observed = observe();
    expect(await observed.scrape('hookline_ready')).toBe(1);
    observed.probes.readyWhen('kafka', () => 'unavailable');
    expect(await observed.scrape('hookline_ready')).toBe(0);
  });

  it('tells of a hold-up of its event loop, even where the scrape was held up with it', async () => {
    await using observed = observe();
    block(400);
    expect(await observed.scrape('hookline_loop_delay_seconds')).toBeGreaterThanOrEqual(0.35);
  });

  it('tells each of those who read it of a hold-up, for a minute', async () => {
    let at = 5_000;
    await using observed = observe(() => at);
    const pass = async (ms: number) => {
      for (const end = at + ms; at < end; at += 51) await observed.scrape('hookline_loop_delay_seconds');
    };
    const delay = () => observed.scrape('hookline_loop_delay_seconds');
    at += 450;
    expect(await delay()).toBe(0.4);
    expect(await delay()).toBe(0.4);
    await pass(59_000);
    expect(await delay()).toBe(0.4);
    await pass(20_000);
    expect(await delay()).toBeLessThan(0.01);
  });
});
