import { bytesOf, type Execution, isFinal } from './execution.ts';

export type ExecutionStore = ReturnType<typeof createExecutionStore>;

/**
 * The executions, oldest first, bounded by number and by bytes. Only final ones are dropped: those on their way keep
 * their place, and whoever makes new ones asks `room` first, so that a receiver that is away can't fill the memory.
 */
export function createExecutionStore(limits: { count: number; bytes: number }) {
  const all = new Map<string, Execution>();
  const final = new Map<string, Execution>();
  const onTheirWay = { count: 0, bytes: 0 };
  let bytes = 0;
  let waiting: (() => void)[] = [];

  const dropOldest = () => {
    while ((all.size > limits.count || bytes > limits.bytes) && final.size > 0) {
      const [oldest] = final.values();
      if (!oldest) return;
      final.delete(oldest.id);
      all.delete(oldest.id);
      bytes -= bytesOf(oldest);
    }
  };
  const hasRoom = (size: number) =>
    onTheirWay.count === 0 || (onTheirWay.count < limits.count && onTheirWay.bytes + size <= limits.bytes);

  return {
    add(execution: Execution): void {
      all.set(execution.id, execution);
      bytes += bytesOf(execution);
      onTheirWay.count += 1;
      onTheirWay.bytes += bytesOf(execution);
      dropOldest();
    },
    /** To be called once for each execution that was added, when its state is final. */
    finish(execution: Execution): void {
      onTheirWay.count -= 1;
      onTheirWay.bytes -= bytesOf(execution);
      if (all.has(execution.id)) final.set(execution.id, execution);
      dropOldest();
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    },
    /** Resolves as soon as an execution that holds `size` bytes can be added. */
    async room(size: number): Promise<void> {
      while (!hasRoom(size)) await new Promise<void>((resolve) => waiting.push(resolve));
    },
    get: (id: string) => all.get(id),
    /** Newest first. */
    list(filter: (execution: Execution) => boolean, limit: number): Execution[] {
      return [...all.values()].reverse().filter(filter).slice(0, limit);
    },
    /** Forgets every final one. */
    clear(): void {
      for (const execution of all.values()) {
        if (!isFinal(execution)) continue;
        all.delete(execution.id);
        bytes -= bytesOf(execution);
      }
      final.clear();
    },
  };
}
