import { randomBytes } from 'node:crypto';
import { parseSealingKeys, type SealingKeys } from '../../../../src/crypto/sealing.ts';

/** A sealing key as its file has it. */
export const newSealingKey = (): string => randomBytes(32).toString('hex');

/** Keys of such a text; none where there is no sealing key. */
export function sealingKeysOf(text: string | null): SealingKeys | undefined {
  if (text === null) return undefined;
  const keys = parseSealingKeys(Buffer.from(text));
  if (keys === null) throw new Error('it is no sealing key');
  return keys;
}
