/**
 * `make simulate-agreement`: holds the model of Kafka that `make simulate` runs on against real brokers. Ends with 1 where a real
 * broker did something that the model does not allow.
 */
import { startStack } from '../../stack/start-stack.ts';
import { useStack } from '../../stack/use-stack.ts';
import { orExit } from '../../support/or-exit.ts';
import { testKafka } from '../../support/topic-reader.ts';
import { explain as explainDifference } from './connections/explained.ts';
import { runSeeds } from './connections/run-seeds.ts';
import { explain as explainFact } from './deaths/explained.ts';
import { BROKERS } from './deaths/plan.ts';
import { SESSION_MS } from './deaths/real-site.ts';
import { type DeathsResult, modelFacts, runDeaths } from './deaths/run-deaths.ts';
import { parseOptions, USAGE } from './options.ts';
import { Verdict } from './verdict.ts';

const began = performance.now();
const say = (line: string) => console.log(line);
const sayWhen = (line: string) => say(`${Math.round((performance.now() - began) / 1_000)} s  ${line}`);
const options = orExit(() => parseOptions(process.argv.slice(2)), USAGE);
const verdict = new Verdict(say);

if (options.seeds > 0) await holdConnections();
if (options.brokerDeaths > 0) await holdDeaths();
verdict.sayExplained();
const [seeds, deaths] = [options.seeds, options.brokerDeaths].map((count) => count.toLocaleString('en'));
say(
  `${seeds} seeds with faults of connections, ${deaths} with deaths of brokers: ${verdict.differences} differences`,
);
process.exitCode = verdict.differences > 0 ? 1 : 0;

async function holdConnections(): Promise<void> {
  await using stack = await useStack({ env: process.env, withRegistry: false, onProgress: sayWhen });
  let compared = 0;
  for await (const result of runSeeds(stack.brokers, { first: options.seed, count: options.seeds })) {
    compared += result.compared;
    if ((result.seed - options.seed + 1) % 100 === 0) sayWhen(`seed ${result.seed}`);
    for (const difference of result.differences) {
      const why = explainDifference(difference);
      const { path, kafka, model } = difference;
      const one = JSON.stringify(kafka);
      const other = JSON.stringify(model);
      if (why) verdict.explain(why);
      else verdict.differ(result.seed, `${path}: Kafka ${one}, model ${other}`, result.story);
    }
  }
  sayWhen(`${compared.toLocaleString('en')} answers of one broker compared`);
}

async function holdDeaths(): Promise<void> {
  const results: (DeathsResult & { readonly seed: number })[] = [];
  {
    const properties = {
      'broker.session.timeout.ms': SESSION_MS,
      'broker.heartbeat.interval.ms': SESSION_MS / 4,
    };
    await using stack = await startStack({
      env: { ...process.env, KAFKA_BROKERS: undefined, SCHEMA_REGISTRY_URL: undefined },
      way: 'jvm',
      nodes: BROKERS,
      withRegistry: false,
      kafka: { heapMb: 384, properties },
      onProgress: sayWhen,
    });
    const { kafka: cluster } = stack;
    if (!cluster) throw new Error('the brokers are no processes of this machine');
    const admin = testKafka({ KAFKA_BROKERS: stack.brokers.join(',') }).admin();
    await admin.connect();
    for (let seed = options.seed; seed < options.seed + options.brokerDeaths; seed++) {
      const result = await runDeaths(seed, { cluster, admin });
      const faults = result.plan.faults.map(
        ({ kind, brokers, ms }) => `${kind} ${brokers.join(' and ')} for ${ms} ms`,
      );
      sayWhen(`seed ${seed}: ${faults.join(', ')}: ${result.attempts} Produce requests`);
      results.push({ ...result, seed });
    }
    await admin.disconnect();
  }
  const model = await modelFacts(results.map(({ plan }) => plan));
  for (const { seed, broken, facts } of results) {
    for (const one of broken) verdict.differ(seed, one);
    for (const fact of facts) {
      const why = model.has(fact) ? undefined : explainFact(fact);
      if (why) verdict.explain(why);
      else if (!model.has(fact)) verdict.differ(seed, `the model never answers "${fact}"`);
    }
  }
}
