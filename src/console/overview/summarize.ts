import { type IngressKeys, ingressKeys } from '../watch/ingress-keys.ts';
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
      address,
      process,
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

/** The live keys, as `hookline keys status` shows them; those that matched last come first. */
export function keysOf(pods: readonly PodReading[] | undefined): IngressKeys {
  const { keys, keysKnown } = ingressKeys(pods);
  const byMatch = keys.toSorted((a, b) => (b.lastMatched ?? '').localeCompare(a.lastMatched ?? ''));
  return { keys: byMatch, keysKnown };
}
