/** `main.ts up|down|status`: a Kafka and a schema registry that stay until `down`. Standard output is for a shell to read. */
import { type Command, parseCommand } from './command-line.ts';
import { type RunningState, readRunning, whyStale } from './running-state.ts';
import { StackError } from './stack-error.ts';
import { LOCAL_DIR } from './start-stack.ts';
import { down, up } from './up-down.ts';

const say = (line: string) => process.stderr.write(`${line}\n`);

const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // Not `once`: with no listener left, a lock library that testcontainers brings ends the process before it has tidied up.
  process.on(signal, () => {
    if (interrupt.signal.aborted) process.exit(1);
    interrupt.abort();
  });
}

try {
  process.exitCode = await run(parseCommand(process.argv.slice(2), LOCAL_DIR));
} catch (error) {
  if (interrupt.signal.aborted) say('stack: interrupted');
  else say(error instanceof StackError ? error.message : String((error as Error).stack));
  process.exitCode = 1;
}

async function run({ verb, ...command }: Command): Promise<number> {
  const turn = { ...command, signal: interrupt.signal, onProgress: (line: string) => say(`stack: ${line}`) };
  if (verb === 'status') return showStatus(command.dir);
  if (verb === 'up') {
    console.log(exportsOf(await up({ ...turn, env: process.env })));
  } else {
    say((await down(turn)) ? 'stack: stopped' : 'stack: nothing runs');
  }
  return 0;
}

/** Exits with 1 where nothing runs, so that scripts can ask. */
async function showStatus(dir: string): Promise<number> {
  const running = readRunning(dir);
  const stale = running && (await whyStale(running));
  if (running === null || stale !== null) {
    say(stale ? `stack: not running, ${stale}` : 'stack: nothing runs');
    return 1;
  }
  const { traces } = running;
  const where = 'pids' in traces ? `processes ${traces.pids.join(', ')}` : 'containers';
  say(`stack: running since ${running.startedAt}, as ${where}`);
  console.log(exportsOf(running));
  return 0;
}

function exportsOf({ brokers, registryUrl }: RunningState): string {
  // One broker is meant to hold everything here.
  const single = brokers.length === 1 ? ' MIN_INSYNC_REPLICAS=1' : '';
  return `export KAFKA_BROKERS=${brokers.join(',')} SCHEMA_REGISTRY_URL=${registryUrl}${single}`;
}
