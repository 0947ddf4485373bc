import type { KafkaCluster } from '../../../stack/kafka-cluster.ts';
import type { KafkaNode } from '../../../stack/kafka-node.ts';
import { realTarget } from '../wire/real-target.ts';
import type { Fault } from './plan.ts';
import type { Site } from './site.ts';

/** After so long a silent broker is taken for dead. */
export const SESSION_MS = 3_000;

/** Three real brokers; their processes get the signals. */
export function realSite(cluster: KafkaCluster): Site {
  const nodesOf = ({ brokers }: Fault) => brokers.map((id) => cluster.nodes[id - 1] as KafkaNode);
  return {
    target: realTarget(cluster.brokers),
    async begin(fault) {
      const signal = fault.kind === 'kill' ? 'SIGKILL' : 'SIGSTOP';
      await Promise.all(nodesOf(fault).map((node) => node.kill(signal)));
    },
    end(fault) {
      let state: 'working' | 'done' | Error = 'working';
      const work = async () => {
        const ways = nodesOf(fault).map((node) =>
          fault.kind === 'kill' ? node.start() : node.kill('SIGCONT'),
        );
        await Promise.all(ways);
        await cluster.waitReady();
      };
      work().then(
        () => {
          state = 'done';
        },
        (error) => {
          state = error as Error;
        },
      );
      return () => {
        if (state instanceof Error) throw state;
        return state === 'done';
      };
    },
  };
}
