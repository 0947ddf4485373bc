import { nameOf, REFUSED_ENTITY, Webhooks } from '../traffic/webhooks.ts';

/** A record's value, decoded. */
export type EventRecord = { readonly eventId: string; readonly source: string };

/** What Kafka holds of a run, as it is read back. */
export class Stored {
  readonly #webhooks: Webhooks;
  readonly #checksIds: boolean;
  /** By entity, its events' numbers in the order of their offsets, repetitions among them. */
  readonly #numbers = new Map<number, number[]>();
  readonly #seen = new Map<number, Set<number>>();
  records = 0;
  /** Events whose `source` isn't what was sent, to the byte, or whose id isn't that of the message. */
  altered = 0;
  /** What had been refused. */
  refused = 0;
  /** What nobody sent. */
  foreign = 0;

  constructor(options: { seed: number; checksIds: boolean }) {
    this.#webhooks = new Webhooks(options.seed);
    this.#checksIds = options.checksIds;
  }

  add({ eventId, source }: EventRecord, key: string | null): void {
    this.records++;
    const name = nameOf(source);
    if (!name) {
      if (source.includes(`"${REFUSED_ENTITY}"`)) this.refused++;
      else this.foreign++;
      return;
    }
    const { entity, number } = name;
    const isSame = source === this.#webhooks.messageOf(entity, number) && key === `e-${entity}`;
    const isItsId = !this.#checksIds || eventId === this.#webhooks.eventIdOf(entity, number);
    if (!isSame || !isItsId) this.altered++;
    const numbers = this.#numbers.get(entity);
    if (numbers) numbers.push(number);
    else this.#numbers.set(entity, [number]);
    const seen = this.#seen.get(entity);
    if (seen) seen.add(number);
    else this.#seen.set(entity, new Set([number]));
  }

  has(entity: number, number: number): boolean {
    return this.#seen.get(entity)?.has(number) ?? false;
  }

  /** Records beyond the first of each event. */
  countDuplicates(): number {
    let duplicates = 0;
    for (const [entity, numbers] of this.#numbers) {
      duplicates += numbers.length - (this.#seen.get(entity)?.size ?? 0);
    }
    return duplicates;
  }

  /** First appearances that stand behind a later event of their entity. */
  countOrderViolations(): number {
    let violations = 0;
    for (const numbers of this.#numbers.values()) {
      const appeared = new Set<number>();
      let latest = -1;
      for (const number of numbers) {
        if (number < latest && !appeared.has(number)) violations++;
        appeared.add(number);
        latest = Math.max(latest, number);
      }
    }
    return violations;
  }
}
