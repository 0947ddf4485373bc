import type { Component } from '../../runtime/components.ts';
import type { ConsoleDeps } from './console-deps.ts';

/**
 * Opens something that needs Kafka with the first question, and keeps it open until the process stops. Where that fails, the next
 * question tries again: a console that starts without Kafka shows why, and recovers by itself.
 */
export function lazily<C extends Component>(
  { add }: Pick<ConsoleDeps, 'add'>,
  name: string,
  open: () => Promise<C>,
): () => Promise<C> {
  let opened: Promise<C> | undefined;
  add(name, {
    async stop() {
      const component = await opened?.catch(() => undefined);
      await component?.stop();
    },
  });
  return () => {
    if (opened) return opened;
    const attempt = open();
    opened = attempt;
    attempt.catch(() => {
      opened = undefined;
    });
    return attempt;
  };
}
