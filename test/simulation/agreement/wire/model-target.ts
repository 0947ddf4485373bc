import { resetSocket } from '../../../../src/kafka/connect/platformatic-client.ts';
import { Actor, Simulation } from '../../engine/simulation.ts';
import { Cluster, type ClusterOptions } from '../../kafka/cluster.ts';
import { Network } from '../../net/network.ts';
import type { Target } from './target.ts';

const CONNECT_MS = 1_000;

/** The simulation's model of Kafka, in a simulation of its own. */
export function modelTarget(
  seed: number,
  options: ClusterOptions,
): { readonly target: Target; readonly cluster: Cluster } {
  const simulation = new Simulation(seed);
  const network = new Network(simulation);
  const cluster = new Cluster(simulation, network, options);
  const client = new Actor('client');
  const pass: Target['pass'] = async (ms, isOver = () => false) => {
    await simulation.runUntil(simulation.now + ms, isOver);
    return isOver();
  };
  const target: Target = {
    name: 'model',
    now: () => simulation.now,
    pass,
    async connect(broker, events) {
      let isConnected = false;
      let isClosed = false;
      let socket: ReturnType<Network['connect']> | undefined;
      const { host, port } = cluster.broker(broker);
      simulation.after(0, client, () => {
        socket = network.connect({ host, port });
        socket.on('error', () => {}).on('data', events.data);
        socket.on('connect', () => {
          isConnected = true;
        });
        socket.on('close', () => {
          isClosed = true;
          events.closed();
        });
      });
      await pass(CONNECT_MS, () => isConnected || isClosed);
      const open = socket as ReturnType<Network['connect']> | undefined;
      const reset = () => {
        open?.removeAllListeners('data').removeAllListeners('close');
        if (open && !isClosed) resetSocket(open);
      };
      if (!open || !isConnected || isClosed) {
        // Whoever asked goes on over another one.
        reset();
        return undefined;
      }
      return { write: (bytes) => void open.write(bytes), reset };
    },
  };
  return { target, cluster };
}
