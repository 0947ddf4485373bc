import type { Registry } from '../../avro/registry.ts';
import type { Shell } from '../../cli/shell/shell.ts';
import type { KafkaAccess } from '../../kafka/open-kafka.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Component } from '../../runtime/components.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { ConsoleConfig } from '../settings/console-config.ts';

/** What pages are made of. Nothing of it needs Kafka to be reachable: a page finds that out when it asks. */
export type ConsoleDeps = {
  readonly config: ConsoleConfig;
  readonly kafka: KafkaAccess;
  readonly registry: Registry;
  /** For functions of `src/cli/` that take one: its notes are debug lines of the log, its signal is the process's stop. */
  readonly shell: Shell;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Registers what a page keeps open, to be stopped with the process. */
  add<C extends Component>(name: string, component: C): C;
};
