import { deliveryTopics } from '../../../src/delivery/open-delivery.ts';
import { Actor, Simulation } from '../engine/simulation.ts';
import { type TakenOver, within } from '../engine/take-over.ts';
import { Cluster } from '../kafka/cluster.ts';
import { Network } from '../net/network.ts';
import { ModelBucket } from '../storage/model-objects.ts';
import { ModelVolume } from '../storage/model-volume.ts';
import { SealingKeyFile } from '../storage/sealing-key-file.ts';
import { beginFault } from './faults.ts';
import { Host } from './host.ts';
import { eventRoutes, Incarnation } from './incarnation.ts';
import { type Webhook, webhookOf } from './messages.ts';
import { judge } from './oracles.ts';
import type { Plan } from './plan.ts';
import { probeRecovered } from './probe-recovered.ts';
import type { StartReceiver } from './receiver.ts';
import { Sender } from './sender.ts';
import type { Site } from './site.ts';

export type Outcome = {
  readonly violations: readonly string[];
  /** SHA-256 over everything that happened. */
  readonly trace: string;
  readonly events: number;
  /** Requests that were answered 200. */
  readonly acknowledged: number;
  /** What happened, where it was asked for. */
  readonly lines: readonly string[] | undefined;
};

/** Faults have ended by then. */
const FAULTS_END_MS = 25_000;
/** After it everything must be stored and empty. */
const RECOVERED_MS = FAULTS_END_MS + 120_000;
/** Of the traffic behind the faults: its numbers, and the time between two of it. */
const FIRST_BUSY = 1_000;
const BUSY_EVERY_MS = 200;
/** Of so many schedules one goes on with events when all is over. */
const PROBED_EVERY = 4;
/** What may still come when all is stored. */
const QUIET_MS = 2_000;
/** After a stop: longer than any attempt or wait of what has stopped. */
const STOPPED_MS = 12_000;

/** Runs one schedule in a simulation of its own, and judges it. */
export async function runPlan(
  plan: Plan,
  taken: TakenOver,
  {
    keepsLines = false,
    start = Incarnation.start,
  }: {
    readonly keepsLines?: boolean;
    /** Another receiver than ours. */
    readonly start?: StartReceiver | undefined;
  } = {},
): Promise<Outcome> {
  const simulation = new Simulation(plan.seed, { keepsLines });
  const site = siteOf(simulation, plan);
  return within(taken, { simulation, connect: site.network.connect }, async () => {
    try {
      return await new Run(plan, site, start).run();
    } catch (error) {
      const { events, trace } = simulation;
      const violations = [`the simulation ended: ${(error as Error).stack}`];
      return { violations, events, acknowledged: 0, trace: trace.digest(), lines: trace.lines };
    }
  });
}

/** Every body of a simulation fits. */
const DEAD_LETTER_BYTES = 1_048_588;
const TOPICS = deliveryTopics(eventRoutes(), 'payments');

function siteOf(simulation: Simulation, { system }: Plan): Site {
  const network = new Network(simulation);
  const { brokers, minIsr, partitions, topicBytes } = system;
  const topics = TOPICS.map((name) => ({
    name,
    partitions,
    maxBytes: name.endsWith('dead-letter') ? DEAD_LETTER_BYTES : topicBytes,
  }));
  const cluster = new Cluster(simulation, network, { brokers, minIsr, topics });
  return {
    simulation,
    system,
    network,
    cluster,
    volume: new ModelVolume(simulation),
    bucket: new ModelBucket(),
    sealingKeys: new SealingKeyFile(simulation, system.isSealed),
    passed: [],
    store: new Actor('objects'),
  };
}

class Run {
  readonly #plan: Plan;
  readonly #site: Site;
  readonly #host: Host;
  readonly #sender: Sender;
  readonly #fate = new Actor('fault');
  readonly #frozen: { from: number; to: number }[] = [];

  constructor(plan: Plan, site: Site, start: StartReceiver) {
    this.#plan = plan;
    this.#site = site;
    this.#host = new Host(site, start);
    this.#sender = new Sender(site.simulation, this.#host);
  }

  async run(): Promise<Outcome> {
    const { simulation } = this.#site;
    const webhooks = this.#plan.webhooks.map(({ number, key, kind }) => webhookOf(number, key, kind));
    for (const [n, { at, againMs }] of this.#plan.webhooks.entries()) {
      const webhook = webhooks[n] as Webhook;
      this.#sender.plan(webhook, at);
      if (againMs !== undefined) this.#sender.plan(webhook, at + againMs);
    }
    for (const fault of this.#plan.faults) this.#planFault(fault);
    this.#host.start();
    await simulation.runUntil(Math.max(0, ...this.#plan.faults.map(({ at, ms }) => at + ms)));
    this.#host.crashAfter(Number.POSITIVE_INFINITY);
    this.#keepBusy();
    await simulation.runUntil(RECOVERED_MS, () => this.#isRecovered);
    const violations = this.#stillWaiting();
    await simulation.runUntil(simulation.now + QUIET_MS);
    violations.push(...this.#leftOver());
    if (violations.length === 0 && this.#plan.seed % PROBED_EVERY === 0)
      violations.push(...(await probeRecovered({ simulation, host: this.#host, sender: this.#sender })));
    const { topicBytes, hasObjects } = this.#plan.system;
    const isLimitChanged = this.#plan.faults.some(({ kind }) => kind === 'limit-lowered');
    const isAnyTooLarge = topicBytes < DEAD_LETTER_BYTES || isLimitChanged;
    const isDiskSound = this.#plan.faults.every(({ kind }) => !/^(disk|sealing)/.test(kind));
    const seen = { site: this.#site, host: this.#host, frozen: this.#frozen, isDiskSound };
    // A record that refers to its message fits each limit.
    const judged = { ...seen, isAnyTooLarge, mayLosePlace: isLimitChanged && !hasObjects };
    violations.push(...judge(judged), ...(await this.#end()));
    violations.push(...simulation.unhandled.map((error) => `not handled: ${error}`));
    return {
      violations,
      events: simulation.events,
      lines: simulation.trace.lines,
      trace: simulation.trace.digest(),
      acknowledged: this.#host.attempts.filter(({ answer }) => answer !== 'reset' && answer?.status === 200)
        .length,
    };
  }

  #planFault(fault: Plan['faults'][number]): void {
    const { simulation } = this.#site;
    simulation.after(fault.at, this.#fate, () => {
      const { kind, ms, broker, chance, value } = fault;
      simulation.trace.note('fault', `${kind} ${ms} ms, broker ${broker}, ${chance}, ${value.toFixed(3)}`);
      if (kind === 'frozen') this.#frozen.push({ from: simulation.now, to: simulation.now + ms });
      const end = beginFault({ site: this.#site, host: this.#host }, fault);
      if (!end) return;
      simulation.after(ms, this.#fate, () => {
        simulation.trace.note('fault', `${kind} ends`);
        end();
      });
    });
  }

  /**
   * While a spool is drained the provider goes on with one key, that of the last message that needs the object store if there
   * is any: a spool that only traffic's end lets run empty is full some day.
   */
  #keepBusy(number = FIRST_BUSY): void {
    if ((this.#host.current?.outstanding ?? 1) === 0 || !this.#site.system.hasSpool) return;
    const { webhooks } = this.#plan;
    const { key } = webhooks.findLast(({ kind }) => kind === 'large') ?? webhooks.at(-1) ?? { key: 'e-0' };
    const { simulation } = this.#site;
    this.#sender.plan(webhookOf(number, key, 'event'), simulation.now);
    simulation.after(BUSY_EVERY_MS, this.#fate, () => this.#keepBusy(number + 1));
  }

  get #isRecovered(): boolean {
    const { current, openAttempts } = this.#host;
    const isEmpty = current?.backlogBytes === 0 && current.outstanding === 0;
    return this.#sender.isDone && openAttempts === 0 && isEmpty && this.#site.cluster.isWhole;
  }

  /** Once nothing fails any more, everything is stored and every queue is empty. */
  #stillWaiting(): string[] {
    if (this.#isRecovered) return [];
    const { current } = this.#host;
    const waiting = [
      ...(current ? [] : ['no process runs']),
      ...(this.#sender.isDone ? [] : [`webhooks ${this.#sender.left} are not stored`]),
      ...(current?.backlogBytes ? [`${current.backlogBytes} bytes wait for Kafka`] : []),
      ...(current?.outstanding ? [`${current.outstanding} deliveries are in the spool`] : []),
      ...(this.#site.cluster.isWhole ? [] : ['the cluster is not whole']),
    ];
    return [`120 s after the last fault: ${waiting.join(', ')}`];
  }

  /** What a process that is idle holds. */
  #leftOver(): string[] {
    const { current } = this.#host;
    if (!current) return [];
    const { backlogBytes } = current;
    return backlogBytes === 0 ? [] : [`${backlogBytes} bytes of records are counted although none waits`];
  }

  /** An orderly stop leaves nothing behind: no connection, no timer, no row. */
  async #end(): Promise<string[]> {
    const { simulation, network, volume } = this.#site;
    const { current } = this.#host;
    if (!current) return [];
    const { actor } = current;
    let isStopped = false;
    const stop = () =>
      current.stop().then(() => {
        isStopped = true;
      });
    simulation.after(0, actor, () => void stop(), { what: 'stops' });
    await simulation.runUntil(simulation.now + 30_000, () => isStopped);
    await simulation.runUntil(simulation.now + STOPPED_MS);
    return [
      ...(isStopped ? [] : ['it does not stop']),
      ...(network.openOf(actor) === 0 ? [] : ['connections are open after the stop']),
      ...(actor.pending === 0 ? [] : [`${actor.pending} timers wait after the stop`]),
      ...(actor.repeated === 0 ? [] : [`${actor.repeated} timers are repeated after the stop`]),
      ...(volume.rows().size === 0 ? [] : [`${volume.rows().size} rows are in the spool after the stop`]),
    ];
  }
}
