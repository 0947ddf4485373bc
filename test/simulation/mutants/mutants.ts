import { COMMANDS, CONSUMING, ONE_WORKS, PROVIDER, REPAIRS } from './control-mutants.ts';
import { OBJECTS_AND_BEFORE, SPOOLING } from './delivery-mutants.ts';
import type { Mutant } from './mutant.ts';
import { PRODUCING, WRITING } from './produce-mutants.ts';
import { RECORDS } from './record-mutants.ts';
import { REPORTS, RESULTS } from './result-mutants.ts';

/** Each must break a promise. */
export const MUTANTS: readonly Mutant[] = [
  ...PRODUCING,
  ...WRITING,
  ...SPOOLING,
  ...OBJECTS_AND_BEFORE,
  ...RECORDS,
  ...COMMANDS,
  ...REPAIRS,
  ...RESULTS,
  ...REPORTS,
  ...PROVIDER,
  ...ONE_WORKS,
  ...CONSUMING,
];
