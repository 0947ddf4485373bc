/**
 * Fills the topics that the readers read, prints as its last line where they are, and keeps all of it until standard input
 * ends. A process of its own: Hookline's tool, which runs in it, does not load in vitest's global setup.
 */
import { once } from 'node:events';
import { fillTopics } from './fill-topics.ts';

await using running = new AsyncDisposableStack();
const place = await fillTopics(running, (line) => console.log(line));
console.log(JSON.stringify(place));
process.stdin.resume();
await once(process.stdin, 'close');
