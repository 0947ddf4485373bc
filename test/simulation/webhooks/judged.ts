import type { Host } from './host.ts';
import type { Site } from './site.ts';

/** What is judged when a schedule is over and everything works again. */
export type Judged = {
  readonly site: Site;
  readonly host: Host;
  /** Whether an event may be too large for its topic, and so become a dead-letter record. */
  readonly isAnyTooLarge: boolean;
  /** Whether an event may be too large for its topic first, and not any more before its dead-letter record is stored. */
  readonly mayLosePlace: boolean;
  /** Nothing happens to the disk, or to its keys: with a spool no webhook is refused. */
  readonly isDiskSound: boolean;
  /** When and for how long the process was frozen. */
  readonly frozen: readonly { readonly from: number; readonly to: number }[];
};
