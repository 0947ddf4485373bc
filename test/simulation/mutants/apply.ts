/**
 * Loaded with `--import` before everything else: the mutant that HOOKLINE_MUTANT names, by its number, is in the production
 * code of this process alone. Nothing on the disk changes.
 */
import { registerHooks } from 'node:module';
import { MUTANTS } from './mutants.ts';
import { mutate } from './mutate.ts';

const mutant = MUTANTS[Number(process.env.HOOKLINE_MUTANT)];
if (!mutant) throw new TypeError('HOOKLINE_MUTANT names no mutant');

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(`/src/${mutant.file}`)) return loaded;
    return { ...loaded, source: mutate(mutant, String(loaded.source)) };
  },
});
