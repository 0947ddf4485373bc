import type { Command } from 'commander';
import { UsageError } from '../core/errors.ts';
import { withAdmin } from '../kafka/admin/describe-topics.ts';
import type { TopicSpec } from '../kafka/admin/topic-specs.ts';
import { applyTopics, countBrokers, planTopics, type TopicPlan } from '../kafka/admin/topics.ts';
import { orAborted } from '../runtime/or-aborted.ts';
import { CLI_GROUPS, connectKafka, loadConfig } from './shell/connections.ts';
import { collect, wholeNumber } from './shell/option-values.ts';
import { printRows } from './shell/print-rows.ts';
import { TOPIC_GROUPS, topicsOf } from './shell/schemas-and-topics.ts';
import type { ExitCode, Run, Shell } from './shell/shell.ts';

/** More than any topic needs: a typing error must not create a million partitions. */
const MAX_PARTITIONS = 10_000;

/** Largest value in Kafka's protocol. */
const MAX_REPLICAS = 32_767;

type Options = {
  partitions: string;
  replicationFactor: string;
  topic?: string[];
  allowDataLoss?: boolean;
  json?: boolean;
};

export function addTopicsCommand(program: Command, shell: Shell, run: Run): void {
  const topics = program.command('topics').description('the topics that Hookline needs');
  const verbs = {
    plan: 'shows what apply would do; exit code 1 if something is not as it should be',
    apply:
      'creates missing topics and corrects settings; may be repeated; exit code 1 if a cleanup policy stays that only --allow-data-loss changes',
  };
  for (const [verb, description] of Object.entries(verbs)) {
    topics
      .command(verb)
      .description(description)
      .option('--partitions <n>', 'partitions of a new topic', '6')
      .option(
        '--replication-factor <n>',
        'replicas of a new topic; fewer if the cluster has fewer brokers',
        '3',
      )
      .option('--topic <name>', 'only this topic, by its full name; may be repeated', collect)
      .option(
        '--allow-data-loss',
        'also shortens retention and changes the cleanup policy; the brokers then delete records',
      )
      .option('--json', 'print JSON')
      .action(run((options: Options) => planOrApply(shell, verb === 'apply', options)));
  }
}

async function planOrApply(shell: Shell, apply: boolean, options: Options): Promise<ExitCode> {
  const wanted = {
    partitions: wholeNumber('--partitions', options.partitions, { min: 1, max: MAX_PARTITIONS }),
    replicas: wholeNumber('--replication-factor', options.replicationFactor, { min: 1, max: MAX_REPLICAS }),
  };
  const config = loadConfig(shell, ...CLI_GROUPS, ...TOPIC_GROUPS);
  const { minInsyncReplicas } = config.durability;
  let isChanging = false;
  const work = withAdmin(connectKafka(config).client, async (admin) => {
    const brokers = await countBrokers(admin);
    const replicationFactor = Math.min(wanted.replicas, brokers);
    if (replicationFactor < wanted.replicas) {
      shell.note(
        `The cluster has ${brokers} broker(s): replication factor ${replicationFactor} instead of ${wanted.replicas}.`,
      );
    }
    if (replicationFactor < minInsyncReplicas) {
      shell.note(
        `Ingress and control do not start on new topics with ${replicationFactor} replica(s) (TOPICS_UNSAFE): MIN_INSYNC_REPLICAS is ${minInsyncReplicas}. Set it to 1 if one broker is to hold everything.`,
      );
    }
    const specs = only(options.topic, topicsOf(config, { partitions: wanted.partitions, replicationFactor }));
    const allowDataLoss = options.allowDataLoss === true;
    const plans = await planTopics(admin, specs, { allowDataLoss, minInsyncReplicas });
    shell.signal.throwIfAborted();
    isChanging = apply;
    if (apply) await applyTopics(admin, plans);
    return plans;
  });
  const plans = await orAborted(work, shell.signal).catch((error) => {
    if (!shell.signal.aborted || !isChanging) throw error;
    throw new Error(
      'interrupted; topics may have been created or changed: "hookline topics plan" shows what is left to do',
    );
  });
  printRows(
    shell,
    options.json === true,
    plans.map((plan) => row(plan, apply)),
  );
  const isLeft = plans.some(({ action, isRefused }) => isRefused || (!apply && action !== 'none'));
  return isLeft ? 1 : 0;
}

function only(names: readonly string[] | undefined, specs: readonly TopicSpec[]): readonly TopicSpec[] {
  const unknown = names?.find((name) => !specs.some((spec) => spec.name === name));
  if (unknown !== undefined)
    throw new UsageError(
      `--topic is ${JSON.stringify(unknown)}: give one of ${specs.map(({ name }) => name).join(', ')}.`,
    );
  return names ? specs.filter(({ name }) => names.includes(name)) : specs;
}

const DONE = { create: 'created', change: 'changed', none: 'as it should be' };
const TO_DO = { create: 'would be created', change: 'would be changed', none: 'as it should be' };

function row(plan: TopicPlan, applied: boolean) {
  const { spec, action, differs, changes, notes, kept } = plan;
  return {
    topic: spec.name,
    state: action === 'none' && differs ? 'differs, and stays' : (applied ? DONE : TO_DO)[action],
    partitions: plan.partitions ?? spec.partitions,
    replicas: plan.replicas ?? spec.replicationFactor,
    settings: Object.entries(spec.config)
      .map(([name, value]) => `${name}=${value}`)
      .join(' '),
    remarks: [
      ...changes.map(({ setting, is, wanted }) => `${setting}: ${is} -> ${wanted}`),
      ...notes,
      ...kept,
    ].join('; '),
  };
}
