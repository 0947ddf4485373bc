import { connect } from 'node:net';
import type { Attack, AttackOutcome } from '../attack.ts';
import type { Target } from '../target.ts';
import { exchange } from './exchange.ts';
import { MARK, POURED, RAW_CASES, type RawCase } from './raw-cases.ts';

const MIB = 1024 ** 2;
const MOST_READ = 4 * MIB;
const POUR_BYTES = 64 * MIB;
const POUR_DEADLINE_MS = 10_000;

/** @returns what is not as the contract says, in words */
async function checkRawCase(port: number, one: RawCase): Promise<string | null> {
  const count = one.answers.length;
  const isWhole = (text: string) => !one.closed && answersIn(text).length >= count;
  const seen = await exchange(port, one.request, isWhole);
  const answers = answersIn(seen.text);
  if (answers.join(' | ') !== one.answers.join(' | ')) {
    return `${one.name}: answered ${answers.join(' | ') || 'nothing'}, not ${one.answers.join(' | ')}`;
  }
  if (one.closed && !seen.closed) return `${one.name}: the connection stays open`;
  if (seen.text.includes(MARK)) return `${one.name}: the answer repeats what was sent`;
  return null;
}

/** Whole answers: status and code, or `stored`. */
function answersIn(text: string): string[] {
  const found = text.matchAll(
    /HTTP\/1\.1 (\d{3})[\s\S]*?\r\n\r\n(?:\{"eventId":"[^"]+","stored":"kafka"\}|\{"error":"(\w+)"[^}]*\})/g,
  );
  return [...found].map(([, status, code]) =>
    code === undefined && status === '200' ? 'stored' : `${status} ${code}`,
  );
}

/** Sends `first`, then `piece` as fast as it is taken, until the connection ends. @returns bytes that the system took */
function pour(port: number, first: string, piece: string): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const timer = setTimeout(() => socket.destroy(), POUR_DEADLINE_MS);
    const write = () => {
      while (!socket.destroyed && socket.bytesWritten < POUR_BYTES && socket.write(piece));
    };
    socket.on('error', () => {});
    socket.resume();
    socket.on('drain', write);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(socket.bytesWritten - socket.writableLength);
    });
    socket.write(first);
    write();
  });
}

async function checkPoured(target: Target, one: (typeof POURED)[number]): Promise<string | null> {
  const before = target.bytesRead();
  const sent = await pour(target.port, one.first, one.piece);
  const read = before === null ? sent : (target.bytesRead() ?? 0) - before;
  return read > MOST_READ ? `${one.name}: ${(read / MIB).toFixed(1)} MiB were read` : null;
}

export const RAW_ATTACK: Attack = {
  name: 'raw',
  what: 'smuggling, framing, headers, paths, methods on bare connections',
  short: true,
  // What is read is measured by bytes: those of large webhooks would be among them.
  smallOnly: true,
  async run({ target }): Promise<AttackOutcome> {
    const problems: (string | null)[] = [];
    for (const one of RAW_CASES) problems.push(await checkRawCase(target.port, one));
    for (const one of POURED) problems.push(await checkPoured(target, one));
    const failed = problems.filter((problem) => problem !== null);
    return {
      note: `${problems.length} cases, ${problems.length - failed.length} as the contract says`,
      problems: failed,
    };
  },
};
