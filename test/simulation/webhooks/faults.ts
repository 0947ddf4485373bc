import type { Random } from '../../faults/random.ts';
import type { FaultValues, Kind } from '../fault-kinds/fault.ts';
import { type FaultKind, KINDS, type Scene } from './fault-kinds.ts';
import type { System } from './site.ts';

/** One fault of a schedule. Plain values: a schedule is shrunk by leaving some out. */
export type Fault = FaultValues & { readonly kind: FaultKind };

/** Kinds that keep Kafka from confirming for a while. */
const OUTAGES = [
  'broker-killed',
  'broker-frozen',
  'black-hole',
  'topics-refused',
  'answers-swallowed',
  'answers-late',
] as const;

/** A random subset of the kinds; or an outage of Kafka with one other kind, or with rows whose key is lost while they wait: what failures do together is found last. */
export function chooseKinds(random: Random, system: System): FaultKind[] {
  const possible = kindsFor(system);
  if (random.chance(0.3))
    return [random.pick(OUTAGES), random.chance(0.2) ? 'partitions-added' : random.pick(possible)];
  if (system.isSealed && system.hasObjects && random.chance(0.1))
    return [
      random.pick(OUTAGES),
      random.pick(['objects-unavailable', 'object-refused']),
      'sealing-keys-lost',
    ];
  return Array.from({ length: random.between(1, 5) }, () => random.pick(possible));
}

/** The kinds that a system can meet. */
const kindsFor = (system: System): FaultKind[] =>
  (Object.entries(KINDS) as [FaultKind, Kind<Scene, System>][])
    .filter(([, { isPossible }]) => isPossible?.(system) ?? true)
    .map(([kind]) => kind);

export function planFault(kind: FaultKind, random: Random, latest: number): Fault {
  const { most } = KINDS[kind];
  return {
    kind,
    at: random.between(0, latest),
    ms: Math.floor(random.next() ** 2 * most),
    broker: random.chance(0.3) ? 0 : random.between(1, 3),
    chance: random.pick([0.05, 0.3, 1]),
    value: random.next(),
  };
}

export const beginFault = (scene: Scene, fault: Fault): (() => void) | undefined =>
  (KINDS[fault.kind] as Kind<Scene, System>).begin(scene, fault);
