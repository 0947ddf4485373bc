import { type KeyRow, keyRows } from '../../cli/keys/key-rows.ts';
import { html, type Shown } from '../page/html.ts';
import { time } from '../page/parts.ts';
import type { PodReading } from './read-pod.ts';

/** How far the keys and their matches are known. */
export type KeysKnown = {
  /** Why there can be other keys and later matches; null where every ingress answers. */
  readonly unknown: string | null;
  /** Since when every ingress counts matches, in milliseconds since 1970; null where none says. */
  readonly since: number | null;
};

/** The live keys as the processes of ingress know them. */
export type IngressKeys = { readonly keys: readonly KeyRow[]; readonly keysKnown: KeysKnown };

/** @param pods undefined before the first reading */
export const ingressKeys = (pods: readonly PodReading[] | undefined): IngressKeys => ({
  keys: keyRows((pods ?? []).flatMap(({ samples }) => samples.all())),
  keysKnown: { unknown: whyUnknown(pods), since: latestStart(pods ?? []) },
});

/** Why what ingress alone knows is not known, or only in part. A process that never answered can be an ingress. */
export function whyUnknown(pods: readonly PodReading[] | undefined): string | null {
  if (!pods) return 'unknown: no process is read';
  const silent = pods.filter(({ fault, process }) => fault !== null && process !== 'control');
  if (silent.length === 0) return null;
  const isIngress = silent.some(({ process }) => process === 'ingress');
  return `unknown: ${isIngress ? 'ingress' : 'a process'} does not answer`;
}

function latestStart(pods: readonly PodReading[]): number | null {
  const starts = pods
    .filter(({ process }) => process !== 'control')
    .map(({ samples }) => samples.max('process_start_time_seconds'))
    .filter((start) => start !== null);
  return starts.length > 0 ? Math.max(...starts) * 1_000 : null;
}

/** Of a key without a match: ingress counts since its own start, and has forgotten what was before. */
export const notMatched = ({ unknown, since }: KeysKnown): Shown =>
  unknown ??
  (since === null
    ? 'not since ingress started'
    : html`<span>not since ${time(since)} (start of ingress)</span>`);
