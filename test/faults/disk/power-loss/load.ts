import type { Random } from '../../random.ts';
import type { DiskFault } from '../shim/build-shim.ts';
import type { MarkedSpool } from './marked-spool.ts';

const FAULTS: readonly DiskFault[] = ['sync EIO', 'write EIO', 'write ENOSPC'];

/** Few are larger than a page or the log between two checkpoints, but some are. */
function newSize(random: Random): number {
  const kind = random.below(100);
  if (kind < 70) return 8 + random.below(2_000);
  if (kind < 95) return 2_000 + random.below(10_000);
  return 20_000 + random.below(200_000);
}

/** A spool's life: appends, alone and together, removals, restarts, filled and drained; at times the disk fails. */
export async function runLoad(
  spool: MarkedSpool,
  random: Random,
  { steps, withFaults }: { steps: number; withFaults: boolean },
): Promise<void> {
  const burst = () =>
    Promise.all(Array.from({ length: 1 + random.below(12) }, () => spool.append(newSize(random))));

  /** As the drain does it: tried until the disk has done it, while more comes. */
  async function takeOut(maxRows: number): Promise<number> {
    const rows = await spool.oldest(maxRows);
    if (rows.length === 0) return 0;
    while (!(await spool.remove(rows))) {
      spool.fix();
      await spool.append(100);
    }
    return rows.length;
  }

  async function failForAWhile(): Promise<void> {
    spool.fail(FAULTS[random.below(FAULTS.length)] ?? 'sync EIO');
    if (random.chance(0.5)) await burst();
    else await takeOut(1_000);
    // Once more, so that opening anew fails too.
    await spool.append(100);
    spool.fix();
    while (!(await spool.append(100))) await takeOut(50);
  }

  async function step(): Promise<void> {
    const kind = random.below(100);
    if (kind < 55) await burst();
    else if (kind < 72) await takeOut(1 + random.below(40));
    else if (kind < 77) await Promise.all([burst(), takeOut(20)]);
    else if (kind < 82) {
      await spool.close();
      await spool.open();
    } else if (kind < 85) while ((await takeOut(50)) > 0);
    else if (kind < 87) while (await spool.append(60_000));
    else if (withFaults) await failForAWhile();
    else await burst();
  }

  await spool.open();
  for (let done = 0; done < steps; done++) await step();
  if (random.chance(0.5)) await spool.close();
}

/** What a failed sync left unwritten must not lie under what is acknowledged later. */
export async function appendAfterAFailedSync(spool: MarkedSpool): Promise<void> {
  await spool.open();
  await spool.append(1_000);
  spool.fail('sync EIO');
  await spool.append(1_000);
  spool.fix();
  await spool.append(1_000);
}

/** A removal in doubt that is asked for again must not meet what came in between. */
export async function removeAgainAfterAFailedSync(spool: MarkedSpool): Promise<void> {
  await spool.open();
  for (let n = 0; n < 3; n++) await spool.append(1_000);
  const rows = await spool.oldest(10);
  spool.fail('sync EIO');
  await spool.remove(rows);
  spool.fix();
  await spool.append(1_000);
  await spool.remove(rows);
}
