/** The program whose disk is recorded: the real spool, in a process of its own, under the shim. */

import { createRandom } from '../../random.ts';
import { appendAfterAFailedSync, removeAgainAfterAFailedSync, runLoad } from './load.ts';
import { MarkedSpool, type Place } from './marked-spool.ts';

export type Script =
  | { readonly kind: 'load'; readonly seed: number; readonly steps: number; readonly withFaults: boolean }
  | { readonly kind: 'append after a failed sync' }
  | { readonly kind: 'remove again after a failed sync' };

export type Order = { readonly place: Place; readonly first: number; readonly script: Script };

const { place, first, script } = JSON.parse(process.argv[2] ?? '') as Order;
const spool = new MarkedSpool(place, first);
if (script.kind === 'load') await runLoad(spool, createRandom(script.seed, 'power-loss'), script);
else if (script.kind === 'append after a failed sync') await appendAfterAFailedSync(spool);
else await removeAgainAfterAFailedSync(spool);
// Where it isn't closed, it ends as by kill -9.
process.exit(0);
