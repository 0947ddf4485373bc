import { join } from 'node:path';
import { writeRequests } from '../load/bodies.ts';
import { findWrk, runWrk } from '../load/run-wrk.ts';
import type { System } from '../systems.ts';
import { probe } from './cases.ts';

const CONNECTIONS = 128;
const SLICE_SECONDS = 5;

/** Memory after so many small events: resident, and the heap once it is collected. */
export type Slice = { readonly events: number; readonly rssMb: number; readonly heapMb: number };

/** Small events in a row, with a look at the memory between. */
export async function runMillion(
  system: System,
  { dir, events, say }: { dir: string; events: number; say: (line: string) => void },
): Promise<Slice[]> {
  const wrk = findWrk(process.env);
  const requestsFile = join(dir, 'plain.requests');
  await writeRequests(requestsFile, 'plain');
  const slices: Slice[] = [];
  for (let done = 0; done < events; ) {
    const load = { wrk, url: system.url, requestsFile, connections: CONNECTIONS, seconds: SLICE_SECONDS };
    done += (await runWrk(load)).requests;
    const { rss, heapUsed } = await probe(system.process);
    const slice = { events: done, rssMb: rss / 1024 ** 2, heapMb: heapUsed / 1024 ** 2 };
    slices.push(slice);
    say(
      `after ${done} small events: RSS ${slice.rssMb.toFixed(0)} MiB, heap ${slice.heapMb.toFixed(1)} MiB once collected`,
    );
  }
  return slices;
}
