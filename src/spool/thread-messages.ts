import type { ErrorCode } from '../core/errors.ts';
import type { SealingKeys } from '../crypto/sealing.ts';
import type { ReadLimits, SpoolRow, SpoolState, StoredRow } from './spool-row.ts';

/** What the spool's thread is asked. `n` comes back with the answer. */
export type Request =
  | { readonly kind: 'open'; readonly n: number }
  | AppendRequest
  | { readonly kind: 'read'; readonly n: number; readonly limits: ReadLimits }
  | { readonly kind: 'remove'; readonly n: number; readonly ids: readonly number[] }
  | { readonly kind: 'probe'; readonly n: number }
  | { readonly kind: 'close'; readonly n: number };

export type AppendRequest = { readonly kind: 'append'; readonly n: number; readonly row: SpoolRow };

export type Answer = {
  readonly n: number;
  readonly rows?: readonly StoredRow[];
  readonly fault?: { readonly code: ErrorCode; readonly detail: string };
};

/** The answers to some requests, and what is in the spool after them. */
export type Report = { readonly answers: readonly Answer[]; readonly state: SpoolState | null };

/** The first report has the answer with this number: the file is open, or why not. */
export const OPENED = 0;

export type ThreadOptions = {
  readonly dir: string;
  readonly maxBytes: number;
  /** Seal each row; unset means that rows only have a checksum. */
  readonly sealingKeys?: SealingKeys | undefined;
};
