import { until } from '../../support/until.ts';
import type { FaultCluster } from '../cluster/fault-cluster.ts';
import { judgeEnded, type Outcome } from '../outcome.ts';
import type { FaultCounts } from '../proxy/produce-faults.ts';
import { createRandom } from '../random.ts';
import { System, type SystemKind } from '../system/system.ts';
import { SenderThread } from '../traffic/sender-thread.ts';
import { type FaultTime, runSteps } from './run-steps.ts';
import type { Schedule } from './schedules.ts';

export type ScheduleRun = {
  readonly schedule: Schedule;
  readonly seed: number;
  readonly scale: number;
  /** They meet the same faults at the same time, each with topics of its own. */
  readonly kinds: readonly SystemKind[];
  readonly cluster: FaultCluster;
  readonly entities: number;
  /** Then the provider gives a request up. */
  readonly answerWithinMs: number;
  /** Fresh traffic has this long to pass everywhere after the faults have ended. */
  readonly recoverWithinMs: number;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
};

const AGAIN_AFTER_MS = 500;
/** The spool has this long to be empty after the faults have ended. */
const DRAIN_MS = 120_000;
/** Entities for a rate that is given: so many that a full publish deadline of each doesn't slow it down. */
const ENTITIES_PER_RATE = 3;

/** One schedule, for all systems at once: traffic, faults, quiet, everything read back and judged. */
export async function runSchedule(run: ScheduleRun): Promise<Outcome[]> {
  const { cluster, schedule, signal } = run;
  await using stack = new AsyncDisposableStack();
  const stages: Stage[] = [];
  for (const kind of run.kinds) stages.push(stack.use(await Stage.open(kind, run)));
  const topics = stages.flatMap((stage) => stage.system.eventTopics);
  await cluster.whole(topics);
  await Promise.all(stages.map((stage) => stage.begin()));
  await Promise.all(stages.map((stage) => stage.passes(0)));

  const steps = schedule.plan(createRandom(run.seed, schedule.name), run.scale);
  const faultTimes = await runSteps(steps, { cluster, topics, say: run.say, signal });
  run.say('the faults have ended');
  await Promise.all(stages.map((stage) => stage.recover(Date.now())));
  await Promise.all(stages.map((stage) => stage.end()));
  await cluster.whole(topics);
  const outcomes: Outcome[] = [];
  for (const stage of stages) outcomes.push(await stage.judge(faultTimes));
  return outcomes;
}

/** A system under test with its traffic. */
class Stage implements AsyncDisposable {
  readonly system: System;
  readonly #run: ScheduleRun;
  readonly #before: FaultCounts;
  #sender: SenderThread | undefined;
  #process: Awaited<ReturnType<System['start']>>['process'] | undefined;
  #sent: Awaited<ReturnType<SenderThread['stop']>> | undefined;
  #recoveredAfterMs: number | null = null;
  #drainedAfterMs: number | null = null;
  #beganAt = 0;
  #seconds = 0;

  private constructor(system: System, run: ScheduleRun) {
    this.system = system;
    this.#run = run;
    this.#before = this.#produceCounts();
  }

  static async open(kind: SystemKind, run: ScheduleRun): Promise<Stage> {
    const { cluster, seed, schedule } = run;
    const withSpool = schedule.spool ?? false;
    return new Stage(await System.make({ kind, cluster, seed, withSpool }), run);
  }

  async begin(): Promise<void> {
    const { schedule, seed, entities } = this.#run;
    const { process, url } = await this.system.start();
    const { perSecond } = schedule;
    this.#process = process;
    this.#beganAt = Date.now();
    this.#sender = new SenderThread({
      url,
      seed,
      entities: perSecond === undefined ? entities : perSecond * ENTITIES_PER_RATE,
      ...(perSecond !== undefined && { perSecond }),
      answerWithinMs: this.#run.answerWithinMs,
      againAfterMs: AGAIN_AFTER_MS,
      answersEventIds: this.system.traits.hasEventIds,
    });
  }

  /** Resolves when every entity had a request acknowledged that was begun after `since`. */
  async passes(since: number): Promise<void> {
    const hasPassed = async () => (await this.#sender?.progress(since))?.isRecovered;
    await until(`${this.system.kind} takes events of every entity`, hasPassed, this.#run.recoverWithinMs);
  }

  /** Notes when fresh events pass again, and when the spool is empty, under traffic that goes on. */
  async recover(since: number): Promise<void> {
    const after = (what: Promise<unknown>) =>
      what.then(
        () => Date.now() - since,
        (error) => {
          this.#run.say(String(error));
          return null;
        },
      );
    [this.#recoveredAfterMs, this.#drainedAfterMs] = await Promise.all([
      after(this.passes(since)),
      after(this.#drained()),
    ]);
  }

  async #drained(): Promise<void> {
    const process = this.#process;
    if (!this.system.hasSpool || !process) return;
    await until('the spool is drained', () => this.system.isDrained(process), DRAIN_MS);
  }

  /** Ends the traffic, then the process, once it has given Kafka all that it took: what is spooled isn't lost. */
  async end(): Promise<void> {
    this.#sent = await this.#sender?.stop();
    this.#seconds = (Date.now() - this.#beganAt) / 1_000;
    await this.#drained().catch((error) => this.#run.say(String(error)));
    await this.#process?.stop(this.system.traits.graceMs);
  }

  async judge(faultTimes: readonly FaultTime[]): Promise<Outcome> {
    const { cluster, schedule, seed } = this.#run;
    const { system } = this;
    if (!this.#sent) throw new Error('judged before its end');
    const verdict = await judgeEnded({ cluster, seed, system, sent: this.#sent, faultTimes });
    const { requests, hit } = this.#produceCounts();
    return {
      schedule: schedule.name,
      system: system.kind,
      seed,
      mustTakeAll: system.hasSpool,
      verdict,
      recoveredAfterMs: this.#recoveredAfterMs,
      ...(system.hasSpool && { drainedAfterMs: this.#drainedAfterMs }),
      produce: { requests: requests - this.#before.requests, hit: hit - this.#before.hit },
      seconds: this.#seconds,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sender?.end();
    await this.system[Symbol.asyncDispose]();
  }

  #produceCounts(): FaultCounts {
    const seen = this.#run.cluster.brokers.map(({ proxy }) =>
      proxy.faults.counts.get(this.system.traits.clientId),
    );
    return {
      requests: seen.reduce((sum, counts) => sum + (counts?.requests ?? 0), 0),
      hit: seen.reduce((sum, counts) => sum + (counts?.hit ?? 0), 0),
    };
  }
}
