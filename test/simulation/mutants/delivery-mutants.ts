import type { Mutant } from './mutant.ts';

const STORE = 'delivery/store/spooling-store.ts';
const DRAIN = 'delivery/store/drain-spool.ts';
const REFUSING = 'delivery/store/refusing-topics.ts';
const IN_FLIGHT = 'delivery/store/in-flight.ts';
const WORK = 'spool/spool-work.ts';

export const SPOOLING: readonly Mutant[] = [
  {
    name: 'a delivery is acknowledged before it is in the spool',
    file: STORE,
    find: 'await this.#ports.spool.append(delivery);',
    put: 'void this.#ports.spool.append(delivery).catch(() => {});',
  },
  {
    name: 'only the delivery whose time is up goes to the spool',
    file: STORE,
    find: 'const entries = this.#inFlight.takeAll();',
    put: 'const entries = this.#inFlight.takeAll().slice(0, 1);',
  },
  {
    name: 'the youngest goes to the spool first',
    file: STORE,
    find: 'const entries = this.#inFlight.takeAll();',
    put: 'const entries = this.#inFlight.takeAll().toReversed();',
  },
  {
    name: 'Kafka is used again before the spool is empty',
    file: STORE,
    find: 'this.#ports.observer.spooling(why);',
    put: 'this.#ports.observer.spooling(why); this.#isSpooling = false;',
  },
  {
    name: 'later deliveries of a held key go to Kafka',
    file: STORE,
    find: 'if (this.#held.has(order) || this.#inFlight.isDeferring(order)) {',
    put: 'if (this.#inFlight.isDeferring(order)) {',
  },
  {
    name: 'a held key does not wait for those with the brokers',
    file: STORE,
    find: 'const isSent = this.#inFlight.isSent(order);',
    put: 'const isSent = false;',
  },
  {
    name: 'what waited for a handover shares its try with the one before',
    file: STORE,
    find: 'this.#take({ ...entry, hasWaited: true })',
    put: 'this.#take(entry)',
  },
  {
    name: 'what waited for a handover waits for the next one',
    file: STORE,
    find: 'if (entry.hasWaited || !this.#handover.queue(entry))',
    put: 'if (!this.#handover.queue(entry))',
  },
  {
    name: 'keys that change while the spool is opened are missed',
    file: 'delivery/store/open-store.ts',
    find: 'if (live && live.all !== keys?.all) await renew(sealingKeysNow(live));',
    put: '',
  },
  {
    name: 'what an earlier process left in the spool is not drained first',
    file: STORE,
    find: "if (ports.spool.outstanding > 0) this.#startSpooling('an earlier process left deliveries in it');",
    put: '',
  },
  {
    name: 'rows that were skipped are removed',
    file: DRAIN,
    find: 'if (!isStored) this.#progress.giveBack(row.id);',
    put: 'if (!isStored) stored.push(row.id);',
  },
  {
    name: 'rows are drained the last first',
    file: DRAIN,
    find: 'const batch = Promise.all(rows.map((row) => this.#drainRow(row, stored)))',
    put: 'const batch = Promise.all(rows.toReversed().map((row) => this.#drainRow(row, stored)))',
  },
  {
    name: 'rows are removed before they are stored',
    file: DRAIN,
    find: 'const stored: number[] = [];\n    const batch',
    put: 'void this.#remove(rows.map(({ id }) => id)).catch(() => {});\n    const stored: number[] = [];\n    const batch',
  },
  {
    name: 'a row waits for its object although an earlier one of its topic was skipped',
    file: REFUSING,
    find: 'if (isSkipping(topic, id)) throw this.#skip(topic, order, id);',
    put: '',
  },
  {
    name: 'deferred deliveries are forgotten',
    file: IN_FLIGHT,
    find: 'return deferred.filter((entry) => this.take(entry));',
    put: 'return deferred.filter((entry) => this.take(entry)).slice(1);',
  },
  {
    name: 'a failed append is answered as if it were stored',
    file: WORK,
    find: 'return ns.map((n) => ({ n, fault }));',
    put: "return ns.map((n) => (fault.code === 'SPOOL_FAILING' ? { n, result: {} } : { n, fault }));",
  },
  {
    name: 'each removal has a sync of its own',
    file: WORK,
    find: 'if (ns.length > 0 && ids.length + next.request.ids.length > GROUP_REMOVALS) break;',
    put: 'if (ns.length > 0) break;',
  },
  {
    name: 'of a group that has no space only the first half is tried again',
    file: WORK,
    find: '...this.#appendGroup(group.slice(half))];',
    put: '...ns.slice(half).map((n) => ({ n, result: {} }))];',
  },
];

const CLAIM = 'delivery/claim-check.ts';
const BODIES = 'object-store/body-store.ts';

export const OBJECTS_AND_BEFORE: readonly Mutant[] = [
  {
    name: 'a drain ends with an error of its own, and begins again',
    file: DRAIN,
    find: 'this.#progress.startRound();',
    put: "this.#progress.startRound(); if (this.#progress.isSlow) throw new TypeError('unforeseen');",
  },
  {
    name: 'a record is sent before its object is stored',
    file: CLAIM,
    find: 'if (await this.#write(object)) return record;',
    put: 'void this.#write(object).catch(() => {}); if (object) return record;',
  },
  {
    name: 'records do not wait for earlier objects of their key',
    file: CLAIM,
    find: 'await before;',
    put: '',
  },
  {
    name: 'a confirmation of the object store is believed whatever it says',
    file: BODIES,
    find: "if (answer === 'created') return 'created';",
    put: "if (answer !== 'exists') return 'created';",
  },
  {
    name: 'a write to the object store has no deadline',
    file: BODIES,
    find: 'const timer = clock.after(deadlineMs, () => deadline.abort());',
    put: 'const timer = clock.after(1e9, () => deadline.abort());',
  },
  {
    name: 'a wrong signature is accepted',
    file: 'crypto/signature.ts',
    find: 'if (timingSafeEqual(expected, given) && digest === signature && isLive(key)) return key;',
    put: 'if (signature !== undefined && isLive(key)) return key;',
  },
  {
    name: 'the event id of a sealed message is made of its ciphertext',
    file: 'delivery/read-event.ts',
    find: 'const eventId = eventIdOf(subscriptionId, message);\n  const encode',
    put: 'const eventId = eventIdOf(subscriptionId, opened.body);\n  const encode',
  },
];
