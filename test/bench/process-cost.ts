import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';

/** Linux counts a process's time in ticks of a hundredth of a second, on every architecture that Node runs on. */
const MICROS_PER_TICK = 10_000;

/** CPU time that a process has used in all its threads, user and system, in microseconds. */
export function cpuMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The name may hold spaces and brackets: fields are counted behind its last bracket. utime is 14, stime 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MICROS_PER_TICK;
}

/** Largest resident memory since {@link forgetPeak}, in bytes. */
export const peakBytes = (pid: number): number => statusBytes(pid, 'VmHWM');

export const residentBytes = (pid: number): number => statusBytes(pid, 'VmRSS');

function statusBytes(pid: number, field: string): number {
  const line = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(
    readFileSync(`/proc/${pid}/status`, 'latin1'),
  );
  return Number(line?.[1]) * 1_024;
}

const ESTABLISHED = '01';

/** How many TCP connections of a process are open to one of these ports. */
export function connectionsTo(pid: number, ports: readonly number[]): number {
  const inodes = new Set(readdirSync(`/proc/${pid}/fd`).map((fd) => inodeOf(`/proc/${pid}/fd/${fd}`)));
  const lines = ['tcp', 'tcp6'].flatMap((name) =>
    readFileSync(`/proc/${pid}/net/${name}`, 'latin1').split('\n').slice(1),
  );
  return lines.filter((line) => {
    // sl, local address, remote address, state; the inode is the tenth.
    const [, , remote = '', state, , , , , , inode] = line.trim().split(/\s+/);
    const port = Number.parseInt(remote.split(':').at(-1) ?? '', 16);
    return state === ESTABLISHED && ports.includes(port) && inodes.has(inode);
  }).length;
}

/** Of a socket; undefined for other files, and for one that is closed by now. */
function inodeOf(fd: string): string | undefined {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(fd))?.[1];
  } catch {
    return undefined;
  }
}

export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
