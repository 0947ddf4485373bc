import { readFileSync, writeFileSync } from 'node:fs';

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
export function peakBytes(pid: number): number {
  const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
  return Number(line?.[1]) * 1_024;
}

export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
