import { OBJECTS_AND_BEFORE, SPOOLING } from './delivery-mutants.ts';
import type { Mutant } from './mutant.ts';
import { PRODUCING, WRITING } from './produce-mutants.ts';

/** Each must break a promise. */
export const MUTANTS: readonly Mutant[] = [...PRODUCING, ...WRITING, ...SPOOLING, ...OBJECTS_AND_BEFORE];
