import { setTimeout as sleep } from 'node:timers/promises';
import { takesRef } from '../../config/command-topics.ts';
import { HooklineError } from '../../core/errors.ts';
import { newId } from '../../crypto/ids.ts';
import type { KafkaClient } from '../../kafka/connect/kafkajs-client.ts';
import { acquireLeaderLease, type HeldLease } from '../../kafka/consume/leader-lease.ts';
import type { Publisher } from '../../kafka/produce/publisher.ts';
import type { ProviderCall } from '../../provider/call-provider.ts';
import { createProviderApi } from '../../provider/provider-api.ts';
import type { observeControl } from '../observe-control.ts';
import type { OperationDeps } from '../operations/operation.ts';
import { type ReconcileParts, reconcile, type Tries } from './reconcile.ts';
import type { OwnCommand } from './repair-commands.ts';
import type { ReportedDrift } from './reported-drift.ts';

export type Reconciler = { stop(): Promise<void> };

export type ReconcilerParts = ReconcileParts & {
  readonly intervalMs: number;
  /** Takes the right to compare alone; one of the control processes has it. Given up where this process stops. */
  readonly hold: (stopping: AbortSignal) => Promise<HeldLease | { readonly holder: string }>;
  /** Another process compares, or may by now: what this one has seen is no longer to be shown. */
  readonly onElsewhere: () => void;
  /** A look came to nothing; the next one comes all the same. */
  readonly onFailure: (error: unknown) => void;
};

/** Compares once per interval, beginning one interval after the start, in one of the control processes. */
export function startReconciler(parts: ReconcilerParts): Reconciler {
  const stopping = new AbortController();
  const running = run(parts, stopping.signal);
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

async function run(parts: ReconcilerParts, stopping: AbortSignal): Promise<void> {
  let hold: HeldLease | undefined;
  const tries: Tries = new Map();
  parts.onElsewhere();
  while (await rest(parts.intervalMs, stopping)) {
    try {
      if (hold?.lost.aborted) {
        parts.onElsewhere();
        await hold.release();
        hold = undefined;
      }
      if (!hold) {
        tries.clear();
        const taken = await parts.hold(stopping);
        hold = 'holder' in taken ? undefined : taken;
      }
      if (hold) await reconcile(parts, tries, AbortSignal.any([stopping, hold.lost]));
    } catch (error) {
      if (!stopping.aborted) parts.onFailure(error);
    }
  }
  await hold?.release();
}

/** False where the process stops meanwhile. */
const rest = (ms: number, signal: AbortSignal): Promise<boolean> =>
  sleep(ms, true, { signal }).catch(() => false);

const PUBLISH_DEADLINE_MS = 15_000;
/** Longer than a request to the payment service and the writes after it usually take. */
const CONFIRM_AFTER_MS = 2_000;

/** The reconciler of this process: it rests where another one of the group compares. */
export function openReconciler(parts: {
  readonly control: OperationDeps & Pick<ReconcileParts, 'finished'> & { readonly call: ProviderCall };
  readonly settings: {
    readonly reconcile: ReconcileParts['mode'];
    readonly reconcileIntervalMs: number;
    readonly reconcileRepairMax: number;
    readonly groupId: string;
  };
  readonly commandTopics: readonly string[];
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly kafka: KafkaClient;
  readonly stateTopic: string;
  readonly reported: ReportedDrift;
  readonly observe: Pick<
    ReturnType<typeof observeControl>,
    'drift' | 'compared' | 'comparedElsewhere' | 'notCompared' | 'notRepaired' | 'withheld'
  >;
}): Reconciler {
  const { control, settings, publisher, kafka, stateTopic: topic, observe } = parts;
  const groupId = `${settings.groupId}-reconciler`;
  return startReconciler({
    ...control,
    reported: parts.reported,
    newId,
    mode: settings.reconcile,
    repairMax: settings.reconcileRepairMax,
    intervalMs: settings.reconcileIntervalMs,
    confirmAfterMs: Math.min(CONFIRM_AFTER_MS, settings.reconcileIntervalMs),
    api: createProviderApi(control.call, control.dialect),
    hold: (signal) => acquireLeaderLease({ kafka, groupId, topic, signal }),
    async send(owner, command) {
      if (!parts.commandTopics.includes(owner))
        throw new HooklineError('NOT_OWNER', `${owner}, which this control does not read`);
      if (!takesRef(control.refPatterns(owner), command.ref))
        throw new HooklineError('NOT_OWNER', `COMMAND_TOPICS no longer gives ${command.ref} to ${owner}`);
      await publisher.publish(toRecord(owner, command), PUBLISH_DEADLINE_MS);
    },
    onDrift: observe.drift,
    onWithheld: observe.withheld,
    onLook: observe.compared,
    onUnsent: observe.notRepaired,
    onElsewhere: observe.comparedElsewhere,
    onFailure: observe.notCompared,
  });
}

const toRecord = (topic: string, command: OwnCommand) => ({
  topic,
  key: Buffer.from(command.ref),
  value: Buffer.from(JSON.stringify(command)),
  headers: new Map<Buffer, Buffer>(),
});
