import { createRandom, type Random } from '../../faults/random.ts';
import { chooseKinds, type Fault, planFault } from './faults.ts';
import { KEYS, type WebhookKind } from './messages.ts';
import type { System } from './site.ts';

export type PlannedWebhook = {
  readonly number: number;
  readonly key: string;
  readonly kind: WebhookKind;
  readonly at: number;
  /** After so long the provider sends it once more, whatever became of the first request. */
  readonly againMs?: number;
};

/** Everything that is decided before a schedule runs. */
export type Plan = {
  readonly seed: number;
  readonly system: System;
  readonly webhooks: readonly PlannedWebhook[];
  readonly faults: readonly Fault[];
};

/** As a topic has it by default. */
const MESSAGE_BYTES = 1_048_588;
/** All webhooks are sent, and all faults begin, within it. */
const LATEST_MS = 8_000;

/** The schedule of a seed: which system, which webhooks, and a few of a random subset of all kinds of faults. */
export function planOf(seed: number): Plan {
  const random = createRandom(seed, 'plan');
  const system = planSystem(random);
  const kinds = chooseKinds(random, system);
  const count = random.between(3, 8);
  const faults = Array.from({ length: count }, () => planFault(random.pick(kinds), random, LATEST_MS));
  return {
    seed,
    system,
    webhooks: planWebhooks(random, system),
    faults: faults.sort((a, b) => a.at - b.at),
  };
}

function planSystem(random: Random): System {
  const brokers = random.pick([1, 3, 3, 3]);
  const hasSpool = random.chance(0.6);
  return {
    hasSpool,
    brokers,
    hasObjects: random.chance(0.4),
    minIsr: brokers === 1 ? 1 : 2,
    partitions: random.between(1, 4),
    sessions: random.pick([1, 1, 2, 3]),
    deadlineMs: hasSpool ? 2_000 : random.pick([3_000, 8_000]),
    objectDeadlineMs: random.pick([3_000, 15_000]),
    claimCheckBytes: 2_000,
    backlogBytes: random.pick([1024 ** 2, 1024 ** 2, 20_000, 4_000]),
    topicBytes: random.pick([MESSAGE_BYTES, MESSAGE_BYTES, 2_600]),
    knowsLimits: random.chance(0.7),
    isSealed: hasSpool && random.chance(0.3),
  };
}

function planWebhooks(random: Random, { hasObjects, topicBytes }: System): PlannedWebhook[] {
  const count = random.between(50, 55);
  // Some come alone, most in bursts: only those can be batched, and overtake each other.
  const bursts = Array.from({ length: random.between(4, 12) }, () => random.next() * LATEST_MS);
  const width = random.pick([0.2, 2, 20]);
  const kindOf = (): WebhookKind => {
    const drawn = random.next();
    if (drawn < 0.03) return 'tampered';
    if (drawn < 0.06) return 'malformed';
    if (drawn < 0.09) return 'unclassified';
    if (drawn < 0.16) return 'sealed';
    const mayBeLarge = hasObjects || topicBytes < MESSAGE_BYTES;
    return mayBeLarge && drawn < 0.35 ? 'large' : 'event';
  };
  const planned = Array.from({ length: count }, () => ({
    key: `e-${random.below(KEYS.length)}`,
    kind: kindOf(),
    at: random.chance(0.7) ? random.pick(bursts) + random.next() * width : random.next() * LATEST_MS,
  }));
  const again = () => (random.chance(0.05) ? { againMs: random.pick([0.1, 5, 2_500]) } : {});
  return planned.sort((a, b) => a.at - b.at).map((webhook, number) => ({ ...webhook, number, ...again() }));
}
