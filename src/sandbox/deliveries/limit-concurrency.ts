export type Limiter = ReturnType<typeof createLimiter>;

/** At most `limit` tasks at a time for each key, the others in the order they came: one slow receiver stops no other. */
export function createLimiter(limit: number) {
  const lanes = new Map<string, { running: number; queue: (() => void)[] }>();

  const enter = (key: string): Promise<void> | undefined => {
    const lane = lanes.get(key) ?? { running: 0, queue: [] };
    lanes.set(key, lane);
    if (lane.running < limit) {
      lane.running += 1;
      return undefined;
    }
    return new Promise((resolve) => lane.queue.push(resolve));
  };
  const leave = (key: string) => {
    const lane = lanes.get(key);
    if (!lane) return;
    // The place is handed on, so that `running` stays as it is.
    const next = lane.queue.shift();
    if (next) return next();
    lane.running -= 1;
    if (lane.running === 0) lanes.delete(key);
  };

  return {
    async run<T>(key: string, task: () => Promise<T>): Promise<T> {
      await enter(key);
      try {
        return await task();
      } finally {
        leave(key);
      }
    },
  };
}
