import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { StackError } from './stack-error.ts';

export type Command = {
  verb: 'up' | 'down' | 'status';
  nodes: 1 | 3;
  kafkaPort: number | undefined;
  registryPort: number | undefined;
  /** Where the state is kept. */
  dir: string;
};

const USAGE =
  'up [--nodes 1|3] [--kafka-port PORT] [--registry-port PORT] | down | status, each with [--dir FOLDER]';

export function parseCommand(args: string[], defaultDir: string): Command {
  const { values, positionals } = parse(args);
  const [verb = '', ...more] = positionals;
  if (more.length > 0 || !isVerb(verb)) throw new StackError(`Usage: ${USAGE}`);
  return {
    verb,
    nodes: nodesOf(values.nodes ?? '1'),
    kafkaPort: portOf('kafka-port', values['kafka-port']),
    registryPort: portOf('registry-port', values['registry-port']),
    dir: resolve(values.dir ?? defaultDir),
  };
}

function parse(args: string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: { nodes: text, 'kafka-port': text, 'registry-port': text, dir: text },
    });
  } catch (error) {
    throw new StackError(`${(error as Error).message}\nUsage: ${USAGE}`);
  }
}

const isVerb = (word: string): word is Command['verb'] => ['up', 'down', 'status'].includes(word);

function nodesOf(text: string): 1 | 3 {
  if (text === '1') return 1;
  if (text === '3') return 3;
  throw new StackError(`--nodes is ${text}: it can be 1 or 3.`);
}

function portOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new StackError(`--${name} is ${text}: it can be a port from 1 to 65535.`);
}
