import { loadRegistryConfig } from '../shell/connections.ts';
import { type Examination, ok, skipped, warning } from './finding.ts';

/** A token's and a command's expiry are judged by the clock. */
const MOST_SKEW_MS = 5_000;

/** Compares the clock with the registry's, by its Date header, which has whole seconds. */
export const examineClock: Examination = async (shell) => {
  const { registry } = loadRegistryConfig(shell);
  const start = Date.now();
  const response = await fetch(`${registry.url}/subjects`, { signal: AbortSignal.timeout(5_000) }).catch(
    () => null,
  );
  await response?.body?.cancel();
  const date = Date.parse(response?.headers.get('date') ?? '');
  if (Number.isNaN(date)) return [skipped('clock', 'the registry tells no time')];
  const skew = Math.abs((start + Date.now()) / 2 - (date + 500));
  if (skew <= MOST_SKEW_MS) return [ok('clock', 'agrees with the registry')];
  return [
    warning(
      'clock',
      `differs from the registry's by ${Math.round(skew / 1_000)} s`,
      'have the host keep time (NTP)',
    ),
  ];
};
