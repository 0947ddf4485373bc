import { expect, it } from 'vitest';
import { HooklineError } from '../../../src/core/errors.ts';
import { ClaimCheck } from '../../../src/delivery/claim-check.ts';
import { type DrainPorts, drainLarge, drainOne } from '../../../src/delivery/store/drain-row.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { deliveryParts, verified } from '../../support/delivery-parts.ts';
import { scriptedBodies } from '../../support/scripted-object-store.ts';

const MESSAGE = JSON.stringify({ type: 'payment-status', entityId: 'e', padding: 'x'.repeat(3_000) });

/** What a drain needs, over an object store that denies; and the reasons that it gave. */
function denying() {
  const { store, bodies } = scriptedBodies(systemClock, 1_000);
  store.fateOf = () => 'refused';
  const claims = new ClaimCheck(bodies, 2_000);
  const delivery = deliveryParts({ claims });
  const reasons: HooklineError[] = [];
  const ports: DrainPorts = {
    ...{ delivery, clock: systemClock, stopping: new AbortController().signal },
    spool: {
      read: async () => [],
      readable: async () => new Set(),
      remove: async () => {},
      outstanding: 1,
      keyRenewals: 0,
    },
    send: () => expect.fail('nothing is sent'),
    observer: { drainFailed: () => {}, notTaken: (error) => reasons.push(error) },
  };
  return { ports, delivery, reasons };
}

it('says why a row stays in the spool, at each try', async () => {
  const { ports, delivery, reasons } = denying();
  const row = { id: 1, isChanged: false, delivery: verified(MESSAGE) } as const;
  expect(await drainOne(row, ports, delivery)).toBe(false);
  expect(await drainOne(row, ports, delivery)).toBe(false);
  expect(reasons.map((error) => [error.code, error.detail])).toEqual([
    ['BODY_STORE_REFUSED', 'the script says refused'],
    ['BODY_STORE_REFUSED', 'the script says refused'],
  ]);
});

it('says the same of a row for a thread of its own', async () => {
  const { ports, reasons } = denying();
  const row = { id: 1, isChanged: false, delivery: verified(MESSAGE) } as const;
  const refusal = await drainLarge(row, ports, {
    store: () => expect.fail('it is drained'),
    identify: () => expect.fail('it is drained'),
    aside: (work) => work(),
    drain: () => Promise.reject(new HooklineError('BODY_STORE_REFUSED', 'denied')),
  });
  expect([refusal?.code, reasons.map(({ detail }) => detail)]).toEqual(['BODY_STORE_REFUSED', ['denied']]);
});
