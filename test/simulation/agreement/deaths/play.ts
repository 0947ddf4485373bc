import { Client, pause, type Steps } from './client.ts';
import { Committer } from './committer.ts';
import { BROKERS, PARTITIONS, type Plan, TICK_MS } from './plan.ts';
import { producer } from './producer.ts';
import { readAll, reader } from './reader.ts';
import { emptyRun, type Run, type Scene } from './run.ts';
import type { Site } from './site.ts';

const DEADLINE_MS = 180_000;
const WHOLE_EVERY_MS = 200;

/** Plays a plan in one of the two targets, whose topic is there and empty: until all is acknowledged, whole and read. */
export async function play(site: Site, topic: string, plan: Plan): Promise<Run> {
  const run = emptyRun();
  const scene: Scene = { target: site.target, topic, paceMs: plan.paceMs, run, ...START };
  const clients = Array.from({ length: PARTITIONS + 3 }, (_, n) => new Client(scene, n));
  const [faults, reads, commits, ...produces] = clients as [Client, Client, Client, ...Client[]];
  const committer = new Committer(scene, commits);
  try {
    const [member] = await together(scene, [committer.join()]);
    await together<unknown>(scene, [
      doFaults(scene, { site, client: faults, plan }),
      reader(scene, reads),
      ...(member ? [committer.commit(member)] : []),
      ...produces.map((client, partition) => producer(scene, client, partition)),
    ]);
    const all = produces.map((client, partition) => readAll(scene, client, partition));
    run.stored.push(...(await together(scene, all)));
    [run.committed = -1] = await together(scene, [committer.committed()]);
  } finally {
    for (const client of clients) client.close();
  }
  return run;
}

const START = { acknowledged: 0, situation: 'whole', isOver: false };

type Faults = { readonly site: Site; readonly client: Client; readonly plan: Plan };

async function* doFaults(scene: Scene, { site, client, plan }: Faults): Steps {
  for (const fault of plan.faults) {
    const from = scene.acknowledged;
    while (scene.acknowledged < from + fault.after) yield;
    scene.situation = `${fault.kind} ${fault.brokers.length}`;
    await site.begin(fault);
    yield* pause(scene, fault.ms);
    const isDone = site.end(fault);
    while (!isDone() || !(yield* isWhole(client))) yield* pause(scene, WHOLE_EVERY_MS);
  }
  scene.isOver = true;
}

/** Whether all brokers say so: one that was frozen tells for a while of the cluster as it was. */
async function* isWhole(client: Client): Steps<boolean> {
  for (let asked = 0; asked < BROKERS; asked++) {
    const partitions = yield* client.partitions();
    if (!partitions.every(({ leaderId, isrNodes }) => leaderId > 0 && isrNodes.length === BROKERS))
      return false;
  }
  return true;
}

/** Goes on with each in turn, and lets time pass between, until all have ended. */
async function together<T>(scene: Scene, all: readonly Steps<T>[]): Promise<T[]> {
  const results = new Map<Steps<T>, T>();
  const end = scene.target.now() + DEADLINE_MS;
  while (results.size < all.length) {
    for (const one of all) {
      if (results.has(one)) continue;
      const step = await one.next();
      if (step.done) results.set(one, step.value);
    }
    if (scene.target.now() > end)
      throw new Error(`${scene.target.name} is not whole after ${DEADLINE_MS / 1_000} s`);
    await scene.target.pass(TICK_MS);
  }
  return all.map((one) => results.get(one) as T);
}
