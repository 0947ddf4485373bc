import { commandSchemasIn } from '../../../src/avro/command-schemas.ts';
import { parseSealingKeys, type SealingKeys } from '../../../src/crypto/sealing.ts';

/** Compiled once: they hold nothing of a simulation. */
export const SCHEMAS = commandSchemasIn(undefined);

/** As the registry would give them, which is not asked: a process that runs needs it no more. */
export const SCHEMA_IDS = { of: ({ file }: { readonly file: string }) => file.length };

/** Of SEALING_KEY_FILE: the same for all seeds, no fault depends on it. */
export const SEALING_KEYS = parseSealingKeys(Buffer.from('k'.repeat(32))) as SealingKeys;
