import type { ValuesOf } from '../config/env.ts';
import type { subscriptionSettings } from '../config/shared-settings.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { ProcessContext } from '../runtime/process-shell.ts';
import type { StartGate } from '../runtime/start-gate.ts';
import type { LiveKeyring } from './keyring.ts';
import { type KeyringDeps, type OpenKeyring, openKeyring } from './open-keyring.ts';

type StartedKeyring = OpenKeyring & {
  /** What interrupted opening or reading the topic since the last call, if anything did. */
  takeInterruption(): Error | undefined;
};

const SECRETS_KEPT =
  'secrets cannot be used; the previous ones stay in use until this process ends: correct the file before a restart';
const NO_SECRETS =
  'secrets cannot be used, and there are no previous ones: webhooks are answered 401 where Kafka has no keys of the ref either';

/** The keyring of ingress, with its log lines and the metric of live keys. */
export async function startKeyring(
  options: Pick<KeyringDeps, 'sealingKeys' | 'openTopic' | 'topic' | 'read' | 'cache'> & {
    readonly settings: ValuesOf<typeof subscriptionSettings>;
    /** Waits for the topic. */
    readonly gate: StartGate;
  },
  { logger, metrics, clock, components, probes }: ProcessContext,
): Promise<StartedKeyring> {
  const { settings, gate, ...deps } = options;
  let interruption: Error | undefined;
  // Brokers that answered before may have gone since.
  const noted = <T>(attempt: () => Promise<T>) =>
    attempt().catch((error) => {
      interruption = error;
      throw error;
    });
  const opened = await openKeyring({
    ...deps,
    clock,
    secretsDir: settings.secretsDir,
    retiredKeysTtlMs: settings.retiredKeysTtlMs,
    stopping: components.stopping,
    open: (attempt) => gate.pass('the subscriptions topic', () => noted(attempt)),
    observer: {
      secretsRead: (ref, present) => logger.info({ ref, present }, 'secrets read'),
      secretsFaulty: (ref, err, isKept) => logger.error({ ref, err }, isKept ? SECRETS_KEPT : NO_SECRETS),
      sealed: (ref) =>
        logger.warn({ ref }, 'no key of SEALING_KEY_FILE opens the sealed secrets of this ref'),
      unreadable: (err, at) => logger.error({ err, at }, 'subscription record cannot be read and is skipped'),
      awaited: (err, at) => logger.warn({ err, at }, 'subscription record waits for the schema registry'),
      brokenOff(err) {
        interruption = err;
        logger.warn({ err, topic: deps.topic }, 'reading the topic was interrupted and is tried again');
      },
      lost: (known) =>
        logger.error(
          { known, topic: deps.topic },
          'the topic of subscriptions was deleted and created anew: the keys that are known stay live, also where it lacks them; see the runbook before you restart ingress',
        ),
    },
  });
  observeKeys(metrics, opened.keyring);
  const isKnown = () => opened.keyring.refs().length > 0;
  // Other pods may know them, from their files or from before Kafka went away: senders should reach those.
  const takeBack = probes.readyWhen('subscriptions', () =>
    isKnown() ? null : 'no subscription is known before their topic has been read',
  );
  opened.topicRead.then(takeBack, () => {});
  const takeInterruption = () => {
    const taken = interruption;
    interruption = undefined;
    return taken;
  };
  return components.add('keyring', { ...opened, takeInterruption });
}

/** A broker that hangs interrupts reading within this time. */
const INTERRUPTED_WITHIN_MS = 12_000;

/**
 * Waits until the topic has been read. Brokers that answered may lack the leaders of its partitions: readiness says what interrupts it.
 * @param mayStartWithout interruptions despite which the process starts
 * @returns whether the topic has been read
 */
export async function awaitSubscriptions(
  { topicRead, takeInterruption }: Pick<StartedKeyring, 'topicRead' | 'takeInterruption'>,
  { mayStartWithout = () => false }: { readonly mayStartWithout?: (error: unknown) => boolean },
  { gate, clock }: Pick<ProcessContext, 'gate' | 'clock'>,
): Promise<boolean> {
  const interruptions = new Set<unknown>();
  const readInTime = () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = clock.after(INTERRUPTED_WITHIN_MS, () => resolve(false));
    return Promise.race([topicRead.then(() => true), promise]).finally(() => timer.cancel());
  };
  const attempt = async () => {
    while (!(await readInTime())) {
      const error = takeInterruption();
      if (error === undefined) continue;
      if (mayStartWithout(error)) return false;
      interruptions.add(error);
      throw error;
    }
    return true;
  };
  return gate.pass('the subscriptions topic', attempt, (error) => !interruptions.has(error));
}

/** Counts the live keys of each ref before each scrape. */
function observeKeys(metrics: Metrics, keyring: LiveKeyring): void {
  const { keysLive } = keyMetrics(metrics);
  metrics.samplers.add(() => {
    keysLive.reset();
    for (const ref of keyring.refs()) {
      // Not the decoys.
      const signing = keyring.signingKeysOf(ref).filter(({ index }) => index >= 0);
      keysLive.set({ ref, use: 'signing' }, signing.length);
      keysLive.set({ ref, use: 'encryption' }, keyring.encryptionKeysOf(ref).length);
    }
  });
}

/** Keys that are live. */
export const keyMetrics = (metrics: Metrics) => ({
  keysLive: metrics.gauge({
    name: 'hookline_keys_live',
    help: 'Keys that deliveries of a ref are taken with now; use is signing or encryption',
    labels: ['ref', 'use'],
  }),
});
