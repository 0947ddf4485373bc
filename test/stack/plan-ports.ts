import { randomInt } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StackError } from './stack-error.ts';

export type Ports = {
  /** The nodes' listeners for clients, for one another and for the controllers' votes. */
  kafka: number[];
  internal: number[];
  controller: number[];
  registry: number;
  management: number;
};

/**
 * Below the ranges from which systems take the near ends of outgoing connections (Linux from 32768, macOS from 49152):
 * a port from there can be gone again by the time that a JVM gets round to listening.
 */
const RANGE = { from: 20_000, to: 32_000 };
/** vitest's workers draw side by side and can't tell one another: each has a part of the range, and so has any other program. */
const PARTS = 12;
const part = Number(process.env.VITEST_POOL_ID ?? 0) % PARTS;
const PART = (RANGE.to - RANGE.from) / PARTS;
const OWN = { from: RANGE.from + part * PART, to: RANGE.from + (part + 1) * PART };

/** All ports of a stack in one go, so that no two of them are the same. What is asked for must be free. */
export async function planPorts(asked: {
  nodes: number;
  kafkaPort?: number | undefined;
  registryPort?: number | undefined;
  loopback?: string | undefined;
}): Promise<Ports> {
  const { nodes, kafkaPort, registryPort, loopback } = asked;
  const kafka = kafkaPort === undefined ? [] : Array.from({ length: nodes }, (_, i) => kafkaPort + i);
  const given = registryPort === undefined ? kafka : [...kafka, registryPort];
  for (const port of given) {
    if (!(await isFree(port, loopback))) throw new StackError(`Port ${port} is taken by another program.`);
  }
  const free = await freePorts(3 * nodes + 2, given, undefined, loopback);
  const take = (count: number) => free.splice(0, count);
  return {
    kafka: kafkaPort === undefined ? take(nodes) : kafka,
    internal: take(nodes),
    controller: take(nodes),
    registry: registryPort ?? (take(1)[0] as number),
    management: take(1)[0] as number,
  };
}

/** Those that this process was told of: until whoever asked for one listens there, it still looks free. */
const told = new Set<number>();

export async function freePorts(
  count: number,
  except: readonly number[] = [],
  draw = () => randomInt(OWN.from, OWN.to),
  loopback?: string,
): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = draw();
    if (told.has(port) || except.includes(port)) continue;
    told.add(port);
    if (claim(port) && (await isFree(port, loopback))) ports.push(port);
  }
  return ports;
}

/** Where the processes of a user tell one another what they were told: what a test starts draws from its part of the range. */
export const CLAIMS = join(tmpdir(), `hookline-ports-${process.getuid?.() ?? 'all'}`);

const claimed = new Set<string>();

/** Makes the port this process's; false where another one that still runs was told of it. */
function claim(port: number): boolean {
  const file = join(CLAIMS, String(port));
  if (isRunning(ownerOf(file))) return false;
  mkdirSync(CLAIMS, { recursive: true });
  writeFileSync(file, String(process.pid));
  if (claimed.size === 0)
    process.once('exit', () => claimed.forEach((one) => void rmSync(one, { force: true })));
  claimed.add(file);
  return true;
}

function ownerOf(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch {
    return 0;
  }
}

function isRunning(pid: number): boolean {
  try {
    return pid > 0 && pid !== process.pid && process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
