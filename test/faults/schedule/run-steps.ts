import { setTimeout as sleep } from 'node:timers/promises';
import type { Broker, FaultCluster } from '../cluster/fault-cluster.ts';
import { describeStep, type Step } from './steps.ts';

/** A time in which something was done to the cluster, in milliseconds since 1970. */
export type FaultTime = { readonly from: number; readonly to: number };

export type StepsRun = {
  readonly cluster: FaultCluster;
  /** The topics whose leaders move. */
  readonly topics: readonly string[];
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
};

/** Does the steps one after the other, and ends every fault. Gives the times of the faults. */
export async function runSteps(steps: readonly Step[], run: StepsRun): Promise<FaultTime[]> {
  const times: FaultTime[] = [];
  for (const step of steps) {
    run.say(describeStep(step));
    const from = Date.now();
    await doStep(step, run);
    if (step.do !== 'calm' && step.do !== 'whole') times.push({ from, to: Date.now() });
  }
  await run.cluster.heal();
  return times;
}

async function doStep(step: Step, { cluster, topics, say, signal }: StepsRun): Promise<void> {
  const { brokers } = cluster;
  const wait = (seconds: number) => sleep(seconds * 1_000, undefined, { signal });
  switch (step.do) {
    case 'calm':
      return wait(step.seconds);
    case 'whole':
      return cluster.whole(topics);
    case 'lose-responses':
      for (const { proxy } of brokers) proxy.faults.set(step.fault);
      await wait(step.seconds);
      for (const { proxy } of brokers) proxy.faults.set(null);
      return;
    case 'cut':
      return brokerOf(brokers, step).proxy.cut();
    case 'blackhole': {
      const { proxy } = brokerOf(brokers, step);
      proxy.setConditions({ blackhole: true });
      await wait(step.seconds);
      return proxy.setConditions({ blackhole: false });
    }
    case 'slow':
      for (const { proxy } of brokers) proxy.setConditions({ latencyMs: step.latencyMs });
      await wait(step.seconds);
      for (const { proxy } of brokers) proxy.setConditions({ latencyMs: 0 });
      return;
    case 'kill': {
      const { node } = brokerOf(brokers, step);
      await node.kill('SIGKILL');
      await wait(step.seconds);
      return node.start();
    }
    case 'upgrade': {
      const { node } = brokerOf(brokers, step);
      await node.kill('SIGTERM');
      return node.start(step.jars);
    }
    case 'freeze': {
      const { node } = brokerOf(brokers, step);
      await node.kill('SIGSTOP');
      await wait(step.seconds);
      return node.kill('SIGCONT');
    }
    case 'all-down':
      await Promise.all(brokers.map(({ node }) => node.kill('SIGKILL')));
      await wait(step.seconds);
      await Promise.all(brokers.map(({ node }) => node.start()));
      return;
    case 'move-leaders':
      // Among other faults it may be refused: the cluster then has none that could lead.
      return cluster.moveLeaders(topics, step.turn).catch((error) => say(`    not moved: ${error}`));
  }
}

function brokerOf(brokers: readonly Broker[], step: { broker: number }): Broker {
  const broker = brokers[step.broker];
  if (!broker) throw new Error(`there is no broker ${step.broker + 1}`);
  return broker;
}
