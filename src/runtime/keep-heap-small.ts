/**
 * Imported first by control, whose work is a trickle that somebody else may turn into a flood: V8 lets the heap of a busy
 * process grow to several times of what is alive (400 MiB resident for 20,000 poison commands, of which 120 MiB of heap
 * do as well). V8 reads this switch at each collection, and collects earlier.
 */
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--optimize-for-size');
