import type { StatusEvent } from './read-event.ts';

/** Well-formed BICs that belong to nobody. */
const AGENTS = ['SBXADEFFXXX', 'SBXBNL2AXXX', 'SBXCFRPPXXX', 'SBXDESMMXXX', 'SBXEITRRXXX'];
const BEGIN = Date.UTC(2026, 0, 5);
const HOURS = 48;
const HOUR_MS = 3_600_000;
/** Hours in which one agent rejects a third of its transactions. */
const INCIDENT = { from: 33, to: 36, agent: 2 };

/** Two made-up days of events, always the same: to try the table and its charts without a Kafka. */
export function* demoEvents(): Generator<StatusEvent> {
  const random = randomFrom(20260105);
  for (let hour = 0; hour < HOURS; hour++) {
    const events = Math.round(6 + 26 * busyness(hour % 24) + 4 * random());
    for (let n = 0; n < events; n++) {
      const transactions = Array.from({ length: 1 + Math.floor(random() * 12) }, () => entry(hour, random));
      const receivedAt = BEGIN + hour * HOUR_MS + Math.floor((n / events) * HOUR_MS);
      yield {
        eventId: `00000000-0000-8000-8000-${String(hour * 1_000 + n).padStart(12, '0')}`,
        entityId: `payment-${hour}-${n}`,
        ref: 'analytics',
        receivedAt,
        createdAt: receivedAt,
        status: transactions[0]?.TxSts ?? null,
        transactions,
      };
    }
  }
}

/** From 0 at night to 1 in the middle of the day. */
const busyness = (hour: number) => Math.max(0, Math.sin(((hour - 5) / 16) * Math.PI));

function entry(hour: number, random: () => number) {
  const agent = Math.min(Math.floor(random() ** 1.6 * AGENTS.length), AGENTS.length - 1);
  const isIncident = hour >= INCIDENT.from && hour < INCIDENT.to && agent === INCIDENT.agent;
  const drawn = random();
  const rejected = isIncident ? 0.36 : 0.02;
  const TxSts =
    drawn < rejected ? 'RJCT' : drawn < rejected + 0.06 ? 'PDNG' : drawn < rejected + 0.2 ? 'ACCC' : 'ACSC';
  return {
    TxSts,
    InstgAgt: { FinInstnId: { BICFI: AGENTS[agent] } },
    InstdAgt: { FinInstnId: { BICFI: AGENTS[(agent + 1 + Math.floor(random() * 4)) % AGENTS.length] } },
  };
}

/** A linear congruential generator: every number follows from the seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}
