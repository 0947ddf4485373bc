import { createRandom, type Random } from '../../faults/random.ts';
import type { FaultValues, Kind } from '../fault-kinds/fault.ts';
import { type PlannedCommand, planCommands } from './commands.ts';
import { CONTROL_KINDS, type ControlFaultKind, type ControlScene } from './fault-kinds.ts';
import type { ControlSystem } from './site.ts';

export type ControlFault = FaultValues & { readonly kind: ControlFaultKind };

/** Everything that is decided before a schedule of control runs. */
export type ControlPlan = {
  readonly seed: number;
  readonly system: ControlSystem;
  readonly commands: readonly PlannedCommand[];
  readonly faults: readonly ControlFault[];
};

/** All commands are sent, and all faults begin, within it; the processes have started before. */
const EARLIEST_MS = 3_000;
const LATEST_MS = 20_000;
/** Where repairs are to be seen by themselves, the commands are sent within this, and what is lost is lost after it. */
const LOSSES_MS = 6_000;

const KINDS = Object.keys(CONTROL_KINDS) as ControlFaultKind[];
/** After which another process works, or the one before begins again. */
const TAKEOVERS = [
  'frozen',
  'parted-from-kafka',
  'crash-at-a-call',
  'crash-at-an-effect',
  'rolling-restart',
] as const;

const HOLD_UP = [
  ...([
    'provider-failed',
    'provider-unavailable',
    'provider-busy',
    'provider-late',
    'provider-lost',
  ] as const),
  ...(['provider-slow-network', 'slow-network', 'answers-late', 'answers-dropped'] as const),
];

const UNCLEAR = [
  ...(['provider-lost', 'provider-swallowed', 'provider-late', 'provider-failed-after'] as const),
  ...(['provider-failed', 'provider-busy', 'provider-slow-network'] as const),
];

/** The schedule of a seed: which system, which commands, and a few of a random subset of all kinds of faults. */
export function planControl(seed: number): ControlPlan {
  const random = createRandom(seed, 'control');
  const system = planSystem(random);
  const isAdopting = random.chance(0.25);
  const isRepairing = system.reconcile === 'repair';
  // What is to be repaired comes after the last command, so that none does what a repair is to do; and the faults after that.
  const isQuiet = isRepairing && random.chance(0.7);
  const kinds =
    isAdopting || (isRepairing && random.chance(0.5)) ? chooseDoubts(random) : chooseKinds(random);
  const count = random.between(3, 8);
  const planned = Array.from({ length: count }, () => planFault(random.pick(kinds), random));
  const faults = planned.map((fault) => (isQuiet ? { ...fault, at: fault.at + LOSSES_MS } : fault));
  if (isQuiet && random.chance(0.5)) faults.push(planHang(random));
  const latestMs = isQuiet ? LOSSES_MS : LATEST_MS;
  if (isRepairing) faults.push(...Array.from({ length: 2 }, () => planLoss(random)));
  return {
    seed,
    system,
    commands: planCommands(random, latestMs, isAdopting).map(later),
    faults: faults.sort((a, b) => a.at - b.at),
  };
}

/** A random subset; or a takeover and what keeps commands under way meanwhile, as what two failures do together is found last. */
function chooseKinds(random: Random): ControlFaultKind[] {
  if (random.chance(0.4)) return [random.pick(TAKEOVERS), random.pick(HOLD_UP)];
  return Array.from({ length: random.between(1, 5) }, () => random.pick(KINDS));
}

/** What leaves open whether the provider has changed something, and its refusal behind that. */
function chooseDoubts(random: Random): ControlFaultKind[] {
  return ['provider-refuses', random.pick(TAKEOVERS), random.pick(UNCLEAR)];
}

/** What is to be repaired: most often a deletion. */
function planLoss(random: Random): ControlFault {
  const { at, value, ...fault } = planFault('provider-changed-by-hand', random);
  return { ...fault, at: LOSSES_MS + Math.floor(at / 4), value: random.chance(0.7) ? value / 3 : value };
}

/** While it is repaired, some calls have no answer in time: whether they have an effect stays open. */
function planHang(random: Random): ControlFault {
  const fault = planFault(random.pick(['provider-swallowed', 'provider-forsaken']), random);
  return { ...fault, at: 2 * LOSSES_MS + Math.floor(fault.at / 4), ms: 8_000, chance: 0.4 };
}

const later = (command: PlannedCommand) => ({ ...command, at: command.at + EARLIEST_MS });

function planSystem(random: Random): ControlSystem {
  const brokers = random.pick([1, 3, 3]);
  return {
    replicas: random.pick([1, 2, 2, 2]),
    brokers,
    minIsr: brokers === 1 ? 1 : 2,
    partitions: random.between(1, 3),
    deadlineMs: random.pick([8_000, 8_000, 30_000, 90_000]),
    sessionTimeoutMs: random.pick([6_000, 10_000]),
    reconcile: random.pick(['report', 'report', 'off', 'repair']),
    reconcileIntervalMs: random.pick([3_000, 8_000]),
    retiredKeysTtlMs: random.pick([0, 12_000, 3_600_000]),
  };
}

function planFault(kind: ControlFaultKind, random: Random): ControlFault {
  const { most } = CONTROL_KINDS[kind] as Kind<ControlScene, ControlSystem>;
  return {
    kind,
    at: random.between(EARLIEST_MS, LATEST_MS),
    ms: Math.floor(random.next() * most),
    broker: random.chance(0.2) ? 0 : random.between(1, 3),
    chance: random.pick([0.1, 0.4, 1]),
    value: random.next(),
  };
}
