import type { ProduceFault } from '../proxy/produce-faults.ts';

/** One thing that is done to the cluster; `broker` counts from 0. Everything that takes time says how long, in seconds. */
export type Step =
  /** Nothing is done: traffic passes. */
  | { readonly do: 'calm'; readonly seconds: number }
  /** Waits until every replica is in sync again, so that the next fault is the only one. */
  | { readonly do: 'whole' }
  /** The proxies lose or hold back Produce responses. */
  | { readonly do: 'lose-responses'; readonly fault: ProduceFault; readonly seconds: number }
  /** Every connection to one broker breaks. */
  | { readonly do: 'cut'; readonly broker: number }
  /** Nothing passes to one broker or from it, and nothing breaks. */
  | { readonly do: 'blackhole'; readonly broker: number; readonly seconds: number }
  /** Each way takes so long, at every broker. */
  | { readonly do: 'slow'; readonly latencyMs: number; readonly seconds: number }
  /** SIGKILL, and started again after so long. */
  | { readonly do: 'kill'; readonly broker: number; readonly seconds: number }
  /** SIGTERM, and started with the jars of another Kafka. */
  | { readonly do: 'upgrade'; readonly broker: number; readonly jars: string }
  /** SIGSTOP, and SIGCONT after so long. */
  | { readonly do: 'freeze'; readonly broker: number; readonly seconds: number }
  /** SIGKILL of all, all started again after so long: nothing can be stored in Kafka meanwhile. */
  | { readonly do: 'all-down'; readonly seconds: number }
  /** Every partition gets another leader. */
  | { readonly do: 'move-leaders'; readonly turn: number };

/** A step in words, for the plan that is printed: with it and the seed a run can be understood. */
export function describeStep(step: Step): string {
  switch (step.do) {
    case 'calm':
      return `calm for ${step.seconds} s`;
    case 'whole':
      return 'wait until every replica is in sync';
    case 'lose-responses': {
      const { kind, percent, delayMs } = step.fault;
      return `${kind} ${percent} % of Produce responses${delayMs ? ` by ${delayMs} ms` : ''} for ${step.seconds} s`;
    }
    case 'cut':
      return `cut broker ${step.broker + 1}`;
    case 'blackhole':
      return `blackhole broker ${step.broker + 1} for ${step.seconds} s`;
    case 'slow':
      return `${step.latencyMs} ms each way for ${step.seconds} s`;
    case 'kill':
      return `kill broker ${step.broker + 1} for ${step.seconds} s`;
    case 'upgrade':
      return `upgrade broker ${step.broker + 1} to ${step.jars}`;
    case 'freeze':
      return `freeze broker ${step.broker + 1} for ${step.seconds} s`;
    case 'all-down':
      return `all brokers down for ${step.seconds} s`;
    case 'move-leaders':
      return `move every leader (turn ${step.turn})`;
  }
}
