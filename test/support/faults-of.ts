import { ConfigError } from '../../src/config/env.ts';

/** The faults of a configuration; none where it loads. */
export function faultsOf(load: () => unknown): readonly string[] {
  try {
    load();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}
