import type { Logger } from './logger.ts';

/** What makes an event of the same kind as another. */
type Kind = Readonly<Record<string, string>>;
type Write = (kind: Kind, text: string, fields: () => object) => void;

/** A kind that is counted: how often it came since its last line. */
type Counted = {
  readonly kind: Kind;
  readonly text: string;
  readonly level: 'warn' | 'error';
  count: number;
};

/** How often one kind is logged at most: a flood must not fill a disk. */
const EVERY_MS = 60_000;

/** A log of what strangers can cause as often as they like: the first of a kind at once, then a count per interval. */
export function createThrottledLog(logger: Pick<Logger, 'warn' | 'error'>): {
  readonly warn: Write;
  readonly error: Write;
  stop(): void;
} {
  const kinds = new Map<string, Counted>();
  const writeCounts = () => {
    for (const [key, one] of kinds) {
      const { kind, text, level, count } = one;
      if (count > 0) logger[level]({ ...kind, count }, `${text}, so often since the last such line`);
      if (count > 0) one.count = 0;
      else kinds.delete(key);
    }
  };
  const timer = setInterval(writeCounts, EVERY_MS);
  timer.unref();
  const writer =
    (level: Counted['level']): Write =>
    (kind, text, fields) => {
      const key = `${text} ${Object.values(kind).join(' ')}`;
      const seen = kinds.get(key);
      if (seen) return void seen.count++;
      kinds.set(key, { kind, text, level, count: 0 });
      logger[level]({ ...kind, ...fields() }, text);
    };
  return {
    warn: writer('warn'),
    error: writer('error'),
    stop() {
      clearInterval(timer);
      writeCounts();
    },
  };
}
