import fc from 'fast-check';
import { avroDecoders } from './avro-decoders.ts';
import { fileDecoders } from './file-decoders.ts';
import { headerDecoders } from './header-decoders.ts';
import { jsonDecoders } from './json-decoders.ts';
import { sealedDecoders } from './sealed-decoders.ts';

export type FuzzRow = { readonly decoder: string; readonly cases: number; readonly failed: string | null };

/**
 * Gives every decoder of bytes that somebody else wrote its part of `cases`. The same seed gives the same cases.
 * @param log told of each decoder when it is done
 */
export async function runFuzz({
  seed,
  cases,
  log,
}: {
  readonly seed: number;
  readonly cases: number;
  readonly log: (line: string) => void;
}): Promise<readonly FuzzRow[]> {
  using files = fileDecoders();
  const all = [...avroDecoders, ...jsonDecoders, ...sealedDecoders, ...headerDecoders, ...files.decoders];
  const weights = all.reduce((sum, { weight }) => sum + weight, 0);
  log(`fuzzing ${all.length} decoders with ${cases} cases, seed ${seed}`);
  const rows: FuzzRow[] = [];
  for (const { decoder, weight, property } of all) {
    const numRuns = Math.max(1, Math.ceil((cases * weight) / weights));
    const details = await fc.check(property, { seed, numRuns, endOnFailure: false });
    const failed = details.failed ? await fc.asyncDefaultReportMessage(details) : null;
    rows.push({ decoder, cases: details.numRuns, failed: failed?.slice(0, 4_000) ?? null });
    log(`${String(details.numRuns).padStart(8)}  ${decoder}${failed === null ? '' : '  FAILED'}`);
  }
  return rows;
}
