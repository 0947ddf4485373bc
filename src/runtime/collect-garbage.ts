import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
// The function is in contexts that are made from now on, and works on the thread that calls it.
const gc = runInNewContext('gc') as () => void;

/**
 * Collects the whole heap of this thread, now. For threads with a small heap, where a few dead objects hold a lot of memory
 * outside of it: V8 gets to them when much more of it has come.
 */
export function collectGarbage(): void {
  gc();
}
