/** A part of a process that runs. `stop` may be called twice and resolves when nothing of it is left. */
export type Component = { stop(): Promise<void> };

export type Components = {
  /** Registers a started component. They are stopped in reverse order; one that comes too late is stopped at once. */
  add<C extends Component>(name: string, component: C): C;
  /** Aborted at the first signal, so that a start that still waits ends. */
  readonly stopping: AbortSignal;
  /** Ends the process, exit code 1: for what only a new process can recover from. Components are stopped all the same. */
  readonly fail: (error: unknown) => void;
  /** Names of the components that have not stopped yet. */
  remaining(): readonly string[];
  stopAll(): Promise<void>;
};

export function createComponents(on: {
  stopped(name: string, error?: unknown): void;
  /** A failure when the process is ending anyway. */
  failedAgain(error: unknown): void;
}): Components {
  const started: { name: string; component: Component }[] = [];
  const controller = new AbortController();
  let stopped: Promise<void> | undefined;
  let hasFailed = false;
  const stopEach = async () => {
    controller.abort();
    for (let one = started.at(-1); one !== undefined; one = started.at(-1)) {
      const { name, component } = one;
      // Called within the chain: a stop that throws at once must not keep the others from theirs.
      await Promise.resolve()
        .then(() => component.stop())
        .then(
          () => on.stopped(name),
          (error) => on.stopped(name, error),
        );
      started.splice(started.indexOf(one), 1);
    }
  };
  return {
    stopping: controller.signal,
    add(name, component) {
      started.push({ name, component });
      // The start went on while everything was being stopped: what it has opened since is closed as well.
      if (stopped) stopped = stopped.then(stopEach);
      return component;
    },
    // Thrown where nobody catches it, it ends the process like any unhandled error. Once only, and not while stopping: a
    // second error would end the process with work in flight.
    fail(error) {
      if (hasFailed || controller.signal.aborted) return on.failedAgain(error);
      hasFailed = true;
      setImmediate(() => {
        throw error;
      });
    },
    remaining: () => started.map(({ name }) => name),
    stopAll: () => (stopped ??= stopEach()),
  };
}
