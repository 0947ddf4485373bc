import type { PodReading } from '../watch/read-pod.ts';

/** A process as the page lists it; what it does not have is null. */
export type PodLine = {
  readonly address: string;
  readonly process: string;
  readonly state: 'ready' | 'not ready' | 'no answer';
  readonly reasons: readonly string[];
  readonly memoryBytes: number | null;
  readonly loopDelaySeconds: number | null;
  readonly spooled: number | null;
  readonly spoolBytes: number | null;
  readonly isWorking: boolean | null;
  /** Of the control process: the age of the provider's access token. */
  readonly tokenSeconds: number | null;
  readonly breakerOpen: boolean | null;
  readonly drift: Readonly<Record<string, number>>;
  /** Of all stages, as this process counted them. */
  readonly deadLettersOpen: number | null;
};

/** @param now milliseconds since 1970 */
export function describePods(pods: readonly PodReading[], now: number): PodLine[] {
  return pods.map(({ address, process, isReady, reasons, fault, samples }) => {
    const asFlag = (value: number | null) => (value === null ? null : value > 0);
    const token = samples.max('hookline_token_obtained_timestamp_seconds');
    const drift = samples.of('hookline_subscription_drift');
    return {
      ...{ address, process },
      state: fault !== null ? 'no answer' : isReady ? 'ready' : 'not ready',
      reasons: fault !== null ? [fault] : Object.entries(reasons).map(([name, why]) => `${name}: ${why}`),
      memoryBytes: samples.max('process_resident_memory_bytes'),
      loopDelaySeconds: samples.max('hookline_loop_delay_seconds'),
      spooled: samples.max('hookline_spool_deliveries'),
      spoolBytes: samples.max('hookline_spool_bytes'),
      isWorking: asFlag(samples.max('hookline_control_working')),
      tokenSeconds: token === null || token === 0 ? null : Math.max(0, now / 1_000 - token),
      breakerOpen: asFlag(samples.max('hookline_provider_breaker_open')),
      deadLettersOpen:
        samples.of('hookline_dead_letters_open').length > 0
          ? samples.sum('hookline_dead_letters_open')
          : null,
      drift: Object.fromEntries(drift.map(({ labels, value }) => [labels.kind ?? '', value])),
    };
  });
}

export type KeyLine = {
  readonly ref: string;
  readonly use: string;
  /** 0 is the current one. */
  readonly key: number;
  /** Milliseconds since 1970. */
  readonly lastMatched: number;
};

/** Of each key the last match that any process saw, the latest first. */
export function keysOf(pods: readonly PodReading[]): KeyLine[] {
  const samples = pods.flatMap((pod) => pod.samples.of('hookline_key_last_matched_timestamp_seconds'));
  const byKey = Map.groupBy(samples, ({ labels }) => `${labels.ref} ${labels.use} ${labels.key}`);
  return [...byKey.values()]
    .map((same) => {
      const { ref = '', use = '', key = '' } = same[0]?.labels ?? {};
      return { ref, use, key: Number(key), lastMatched: Math.max(...same.map(({ value }) => value)) * 1_000 };
    })
    .sort((a, b) => b.lastMatched - a.lastMatched);
}
