import { readFileSync } from 'node:fs';

/** Something that happened to the watched folder, in the order in which it happened. Paths are relative to it. */
export type DiskEvent =
  | { readonly kind: 'create' | 'unlink' | 'mkdir'; readonly path: string }
  | { readonly kind: 'write'; readonly path: string; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly path: string; readonly size: number }
  /** Of a file's content, or of a folder's entries. A sync that failed has synced nothing, or who knows what. */
  | { readonly kind: 'sync'; readonly path: string; readonly failed: boolean }
  /** What the process said, such as that it acknowledged something. */
  | { readonly kind: 'mark'; readonly text: string };

/** The numbers of disk-shim.c. */
const KINDS = [null, 'create', 'write', 'truncate', 'sync', 'unlink', 'rename', 'mkdir', 'mark'] as const;
const HEADER_BYTES = 24;

/** Reads what the shim wrote down. */
export function readLog(file: string): DiskEvent[] {
  const log = readFileSync(file);
  const events: DiskEvent[] = [];
  for (let at = 0; at < log.length; ) {
    const kind = KINDS[log.readUInt32LE(at)];
    const failed = log.readInt32LE(at + 4) !== 0;
    const offset = Number(log.readBigUInt64LE(at + 8));
    const pathEnd = at + HEADER_BYTES + log.readUInt32LE(at + 16);
    const end = pathEnd + log.readUInt32LE(at + 20);
    const path = log.toString('utf8', at + HEADER_BYTES, pathEnd);
    const bytes = log.subarray(pathEnd, end);
    at = end;
    if (kind === 'write' && failed) continue;
    if (kind === 'write') events.push({ kind, path, offset, bytes });
    else if (kind === 'truncate') events.push({ kind, path, size: offset });
    else if (kind === 'sync') events.push({ kind, path, failed });
    else if (kind === 'mark') events.push({ kind, text: bytes.toString() });
    else if (kind === 'create' || kind === 'unlink' || kind === 'mkdir') events.push({ kind, path });
    else throw new Error(`the shim's log holds a ${kind}, which the model of the disk doesn't know`);
  }
  return events;
}
