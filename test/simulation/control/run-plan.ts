import { Actor, Simulation } from '../engine/simulation.ts';
import { type TakenOver, within } from '../engine/take-over.ts';
import type { Kind } from '../fault-kinds/fault.ts';
import { Cluster } from '../kafka/cluster.ts';
import { OutsideProducer } from '../kafka/outside-producer.ts';
import { Network } from '../net/network.ts';
import { ModelProvider } from '../provider/model-provider.ts';
import { BegunCalls } from '../provider/simulated-http.ts';
import { CONTROL_KINDS, type ControlScene } from './fault-kinds.ts';
import { ControlPod } from './fleet.ts';
import { unrepairedIn } from './judge-provider.ts';
import { commandsIn, stateIn } from './ledger.ts';
import { judgeControl } from './oracles.ts';
import type { ControlFault, ControlPlan } from './plan.ts';
import {
  COMMANDS,
  type ControlSite,
  type ControlSystem,
  DEAD_LETTERS,
  PUBLIC_URL,
  RESULTS,
  SUBSCRIPTIONS,
} from './site.ts';

export type ControlOutcome = {
  readonly violations: readonly string[];
  /** SHA-256 over everything that happened. */
  readonly trace: string;
  readonly events: number;
  /** Commands that have their result. */
  readonly acknowledged: number;
  readonly lines: readonly string[] | undefined;
};

/** After the last fault: longer than a call of the provider that is never answered, the deadline of its command, and a takeover. */
const RECOVERY_MS = 240_000;
const CHECK_MS = 250;
const REPAIR_CHECK_MS = 2_000;
/** After a stop: longer than any attempt or wait of what has stopped. */
const STOPPED_MS = 12_000;

/** Runs one schedule of control in a simulation of its own, and judges it. */
export async function runControl(
  plan: ControlPlan,
  taken: TakenOver,
  { keepsLines = false }: { readonly keepsLines?: boolean } = {},
): Promise<ControlOutcome> {
  const simulation = new Simulation(plan.seed, { keepsLines });
  const site = siteOf(simulation, plan);
  const { connect } = site.network;
  const violations = await within(taken, { simulation, connect }, () =>
    new Run(plan, site).run().catch((error) => [`the simulation ended: ${(error as Error).stack}`]),
  );
  const acknowledged = commandsIn(site.cluster).length;
  const { events, trace } = simulation;
  return { violations, events, acknowledged, lines: trace.lines, trace: trace.digest() };
}

const MAX_BYTES = 1_048_588;

function siteOf(simulation: Simulation, { system, commands }: ControlPlan): ControlSite {
  const network = new Network(simulation);
  const { brokers, minIsr, partitions } = system;
  const topics = [COMMANDS, RESULTS, SUBSCRIPTIONS, DEAD_LETTERS].map((name) => {
    return { name, partitions, maxBytes: MAX_BYTES };
  });
  const cluster = new Cluster(simulation, network, { brokers, minIsr, topics, hasGroup: true });
  const provider = new ModelProvider(simulation, network);
  const adoptions = commands.filter(({ fields }) => fields.type === 'subscription.adopt');
  const first = new Map(adoptions.toSorted((a, b) => b.at - a.at).map(({ ref, at }) => [ref, at]));
  const foreign = new Map(
    [...first].map(([ref, knownAt]) => {
      // Some are at our address, made there by hand; of those some are found by it alone.
      const number = Number(ref.at(-1));
      const isHere = number % 2 === 1;
      const at = isHere ? `${PUBLIC_URL}/webhooks/${ref}` : `https://elsewhere.example/${ref}`;
      const { id, url } = provider.addForeign(at, ['payment_status']);
      const isNamed = number % 4 !== 3;
      return [ref, { id, url, signingSecret: provider.secrets.get(id) ?? '', knownAt, isNamed }];
    }),
  );
  return { simulation, system, network, cluster, provider, begun: new BegunCalls(), foreign };
}

class Run {
  readonly #plan: ControlPlan;
  readonly #site: ControlSite;
  readonly #pods: readonly ControlPod[];
  readonly #teams: OutsideProducer;
  readonly #fate = new Actor('fault');
  #isRecovered = false;

  constructor(plan: ControlPlan, site: ControlSite) {
    this.#plan = plan;
    this.#site = site;
    this.#teams = new OutsideProducer(site.simulation, site.cluster);
    const names = ['control-a', 'control-b', 'control-c'].slice(0, plan.system.replicas);
    this.#pods = names.map((name) => new ControlPod(site, name));
  }

  async run(): Promise<string[]> {
    const { simulation, system } = this.#site;
    for (const { at, ref, fields, againMs } of this.#plan.commands) {
      const record = { topic: COMMANDS, key: ref, value: JSON.stringify(fields) };
      this.#teams.plan(at, record);
      if (againMs !== undefined) this.#teams.plan(at + againMs, record);
    }
    for (const fault of this.#plan.faults) this.#planFault(fault);
    for (const pod of this.#pods) pod.start();
    const faultsEnd = Math.max(0, ...this.#plan.faults.map(({ at, ms }) => at + ms));
    await simulation.runUntil(faultsEnd);
    for (const { actor } of this.#pods) actor?.dieAfter(Number.POSITIVE_INFINITY);
    const check = () => {
      this.#isRecovered = this.#waiting().length === 0;
    };
    simulation.after(0, this.#fate, check, { everyMs: CHECK_MS, settles: false });
    const sent = Math.max(...this.#plan.commands.map(({ at, againMs = 0 }) => at + againMs));
    await simulation.runUntil(Math.max(faultsEnd, sent));
    await simulation.runUntil(simulation.now + RECOVERY_MS, () => this.#isRecovered);
    const waiting = this.#waiting();
    if (waiting.length > 0)
      return [`${RECOVERY_MS / 1_000} s after the last fault: ${waiting.join(', ')}`, ...this.#unhandled()];
    await this.#untilRepaired();
    // Differences are reported that two comparisons have found.
    await simulation.runUntil(simulation.now + 3 * system.reconcileIntervalMs + 10_000);
    // Nor is a command judged that a comparison has just sent.
    await simulation.runUntil(simulation.now + RECOVERY_MS, () => this.#isRecovered);
    const judged = judgeControl(this.#site, this.#plan);
    return [...judged, ...(await this.#end()), ...this.#unhandled()];
  }

  #unhandled = () => this.#site.simulation.unhandled.map((error) => `not handled: ${error}`);

  #planFault(fault: ControlFault): void {
    const { simulation } = this.#site;
    const { kind, at, ms, broker, chance, value } = fault;
    simulation.after(at, this.#fate, () => {
      simulation.trace.note('fault', `${kind} ${ms} ms, ${broker}, ${chance}, ${value.toFixed(3)}`);
      const { begin } = CONTROL_KINDS[kind] as Kind<ControlScene, ControlSystem>;
      const end = begin({ site: this.#site, pods: this.#pods }, fault);
      if (!end) return;
      simulation.after(ms, this.#fate, () => {
        simulation.trace.note('fault', `${kind} ends`);
        end();
      });
    });
  }

  /** Until the provider has what the state says, where control is to see to that. */
  async #untilRepaired(): Promise<void> {
    const { simulation, system, cluster } = this.#site;
    if (system.reconcile !== 'repair') return;
    const end = simulation.now + RECOVERY_MS;
    while (simulation.now < end && unrepairedIn(this.#site, stateIn(cluster)).length > 0)
      await simulation.runUntil(simulation.now + REPAIR_CHECK_MS);
  }

  /** What is not done yet. */
  #waiting(): string[] {
    const { cluster, provider } = this.#site;
    const { group } = cluster.coordinator;
    const behind = (cluster.topics.get(COMMANDS) ?? []).filter(({ index, kept }) => {
      const end = kept.at(-1)?.end ?? 0;
      return end > 0 && group.committed(COMMANDS, index) !== end;
    });
    return [
      ...behind.map(({ name }) => `commands of ${name} are not committed`),
      ...this.#pods.filter(({ current }) => !current).map(({ machine }) => `${machine} does not run`),
      ...(this.#teams.open > 0 ? ['commands are not sent'] : []),
      ...(provider.underWay > 0 ? ['the provider is at work'] : []),
      ...(cluster.isWhole ? [] : ['the cluster is not whole']),
    ];
  }

  /** Orderly stops, one behind the other, leave no connection and no timer behind. */
  async #end(): Promise<string[]> {
    const { simulation, network } = this.#site;
    const faults: string[] = [];
    const stopped: { readonly actor: Actor; readonly machine: string }[] = [];
    for (const { actor, current, machine } of this.#pods) {
      if (!actor || !current) continue;
      stopped.push({ actor, machine });
      let isStopped = false;
      const stop = () =>
        current.stop().then(() => {
          isStopped = true;
        });
      simulation.after(0, actor, () => void stop(), { what: 'stops' });
      await simulation.runUntil(simulation.now + 30_000, () => isStopped);
      if (!isStopped) faults.push(`${machine} does not stop`);
    }
    await simulation.runUntil(simulation.now + STOPPED_MS);
    for (const { actor, machine } of stopped) {
      if (network.openOf(actor) > 0) faults.push(`${machine} has connections after its stop`);
      if (actor.pending > 0) faults.push(`${machine} has ${actor.pending} timers after its stop`);
      if (actor.repeated > 0) faults.push(`${machine} repeats ${actor.repeated} timers after its stop`);
    }
    return faults;
  }
}
