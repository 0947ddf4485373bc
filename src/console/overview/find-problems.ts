import { counted } from '../page/parts.ts';
import type { Growth } from '../watch/rates.ts';
import type { PodReading } from '../watch/read-pod.ts';
import { lagOf } from '../watch/watch.ts';
import { checkDeadLetters } from './check-dead-letters.ts';
import { Facts } from './facts.ts';
import type { Problem } from './problem.ts';

/**
 * What the processes' own figures say is wrong: the rules of deploy/helm/hookline/files/alerts.yaml in short, so that a console without
 * Prometheus knows them too.
 * @param given.now milliseconds since 1970
 */
export function findProblems(
  pods: readonly PodReading[],
  given: { readonly recent: Growth; readonly now: number },
): Problem[] {
  const facts = new Facts(pods, given.recent);
  checkProcesses(facts);
  checkWebhooks(facts);
  checkSpool(facts);
  checkStores(facts);
  checkCommands(facts);
  checkSubscriptions(facts, given.now);
  checkDeadLetters(facts, given.now);
  checkFields(facts);
  return facts.problems;
}

function checkProcesses(facts: Facts): void {
  for (const { address, process, fault, isReady, reasons } of facts.pods) {
    if (fault !== null) {
      facts.add(
        'act',
        `${process === 'unknown' ? address : `${process} at ${address}`} does not answer: ${fault}.`,
        'See whether its pod runs, and read the end of its log.',
      );
    } else if (!isReady) {
      const why = Object.entries(reasons).map(([name, reason]) => `${name}: ${reason}`);
      facts.add(
        'act',
        `${process} at ${address} is not ready: ${why.join('; ') || 'it gives no reason'}.`,
        'It waits for what it names, and a restart repairs none of it.',
        { command: 'hookline doctor' },
      );
    }
  }
}

function checkWebhooks(facts: Facts): void {
  const failed = facts.grown('hookline_deliveries_total', / status=5/);
  if (failed > 0)
    facts.add(
      'act',
      `${counted(failed, 'webhook was', 'webhooks were')} answered 5xx in five minutes, and not stored.`,
      'The provider sends such a webhook again. See why ingress is not ready, or whether its spool is full.',
      { command: 'hookline doctor' },
    );
  const wrong = facts.grown('hookline_deliveries_refused_total', / code=UNAUTHENTIC/);
  const all = facts.grown('hookline_deliveries_total');
  if (wrong >= 5 && wrong > all / 20)
    facts.add(
      'act',
      `${wrong} of ${all} webhooks in five minutes had a wrong signature.`,
      'A key was rotated on one side only, or somebody probes the address.',
      { command: 'hookline keys status' },
    );
}

function checkSpool(facts: Facts): void {
  const waiting = facts.sum('hookline_spool_deliveries');
  const age = Math.round(facts.max('hookline_spool_oldest_seconds'));
  if (facts.max('hookline_spool_in_use') > 0)
    facts.add(
      'act',
      `Kafka does not confirm, and new events go to the spool: ${counted(waiting, 'waits', 'wait')}, the oldest for ${age} s.`,
      'They are safe on disk. Restore Kafka before the spool is full.',
      { command: 'hookline doctor' },
    );
  else if (age > 900)
    facts.add(
      'look',
      `${counted(waiting, 'event waits', 'events wait')} in the spool, the oldest for ${age} s, though Kafka is there.`,
      'See which topic refuses them.',
      { command: 'hookline doctor' },
    );
  for (const { samples } of facts.pods) {
    const bytes = samples.max('hookline_spool_bytes') ?? 0;
    const most = samples.max('hookline_spool_max_bytes') ?? 0;
    if (most > 0 && bytes > most / 2)
      facts.add(
        'act',
        `A spool is ${Math.round((100 * bytes) / most)} % full.`,
        'At 100 % webhooks are answered 503. Restore Kafka, or raise SPOOL_MAX_BYTES.',
      );
  }
  const unopened = facts.sum('hookline_spool_key_missing');
  if (unopened > 0)
    facts.add(
      'act',
      `${counted(unopened, 'event in the spool is', 'events in the spool are')} sealed by a key that is not in SEALING_KEY_FILE.`,
      'Put the former key back into the file, behind the current one.',
    );
}

function checkStores(facts: Facts): void {
  const unsafe = facts.samples('hookline_topic_unsafe').filter(({ value }) => value === 1);
  for (const topic of new Set(unsafe.map(({ labels }) => labels.topic)))
    facts.add(
      'act',
      `The topic ${topic} can lose what was acknowledged.`,
      'Correct its replication and min.insync.replicas.',
      { command: 'hookline topics plan' },
    );
  if (facts.samples('hookline_body_store_available').some(({ value }) => value === 0))
    facts.add(
      'act',
      'The object store takes no messages.',
      'See whether it is reachable, and whether its credentials are valid.',
      { command: 'hookline doctor' },
    );
}

const TOKEN_REFUSED = / operation=POST oauth\/token.* outcome=(refused|unauthorised|gone)/;
/** Waiting commands that are no peak of a minute. */
const MANY_COMMANDS = 100;

function checkCommands(facts: Facts): void {
  const hasControl = facts.pods.some(({ process }) => process === 'control');
  if (hasControl && facts.max('hookline_control_working') === 0)
    facts.add('act', 'No control process executes commands.', 'See why control is not ready.', {
      command: 'hookline doctor',
    });
  const lag = lagOf(facts.pods) ?? 0;
  if (facts.max('hookline_provider_breaker_open') > 0)
    facts.add(
      'act',
      'The provider does not answer: commands wait.',
      "None has failed. Control's log says why: see the status page of the provider, or whether control has its JWT.",
      { command: 'hookline doctor' },
    );
  else if (facts.grown('hookline_provider_requests_total', TOKEN_REFUSED) > 0)
    facts.add('act', 'The provider issues no access token: every command fails.', 'Renew the JWT.', {
      command: 'hookline doctor',
    });
  else if (lag > MANY_COMMANDS)
    facts.add(
      'look',
      `${lag} commands wait.`,
      'See whether one topic floods control, or the provider is slow.',
    );
  const failed = facts.grown('hookline_commands_total', / status=FAILED/);
  if (failed > 0)
    facts.add(
      'look',
      `${counted(failed, 'command', 'commands')} failed in five minutes.`,
      'Read why in the latest results.',
      { page: '/commands' },
    );
}

/** Comparisons in a row: one alone may have met a restart of the provider. */
const MANY_FAILED = 3;
/** A key that matched within so many seconds is in use. */
const IN_USE_SECONDS = 300;

function checkSubscriptions(facts: Facts, now: number): void {
  const drift = facts
    .samples('hookline_subscription_drift')
    .filter(({ labels }) => labels.kind !== 'foreign');
  const drifted = drift.reduce((total, { value }) => total + value, 0);
  if (drifted > 0)
    facts.add(
      'look',
      `${counted(drifted, 'subscription differs', 'subscriptions differ')} at the provider.`,
      'See what differs, then apply the file.',
      { command: 'hookline subscriptions plan -f subscriptions.yaml', page: '/subscriptions' },
    );
  const failed = facts.max('hookline_comparisons_failed');
  if (failed >= MANY_FAILED)
    facts.add(
      'look',
      `The provider's subscriptions could not be compared with the state ${failed} times in a row.`,
      'What was lost there since is not known. The log of control says why.',
      { command: 'hookline command subscription.list --wait' },
    );
  const withheld = facts.max('hookline_repairs_withheld');
  if (withheld > 0)
    facts.add(
      'act',
      `${counted(withheld, 'subscription', 'subscriptions')} would be repaired, which is more than RECONCILE_REPAIR_MAX: none is.`,
      'See who changed them at the provider, then apply the file, or raise RECONCILE_REPAIR_MAX.',
    );
  const old = facts
    .samples('hookline_key_last_matched_timestamp_seconds')
    .filter(({ labels, value }) => labels.key !== '0' && now / 1_000 - value < IN_USE_SECONDS);
  for (const name of new Set(
    old.map(({ labels }) => `${labels.ref} is still used with an older ${labels.use} key`),
  ))
    facts.add(
      'look',
      `${name}.`,
      'Keep that key in its file until the provider uses the current one; an encryption key also until no open dead-letter record or spooled delivery needs it.',
      { command: 'hookline keys status' },
    );
}

function checkFields(facts: Facts): void {
  const unfit = facts.grown('hookline_schema_drift_total');
  if (unfit > 0)
    facts.add(
      'look',
      `${counted(unfit, 'value', 'values')} did not fit the schema in five minutes.`,
      'Such a value is null in its field, and whole in the message. See which fields.',
      { page: '/schemas' },
    );
}
