import { takesRef } from '../../config/command-topics.ts';
import { commandRecord } from '../../core/command.ts';
import { HooklineError } from '../../core/errors.ts';
import { type Lease, type LeasedWork, workUnderLeases } from '../../core/lease.ts';
import { newId } from '../../crypto/ids.ts';
import type { Publisher } from '../../kafka/produce/publisher.ts';
import type { ProviderCall } from '../../provider/call-provider.ts';
import { createProviderApi } from '../../provider/provider-api.ts';
import type { OperationDeps } from '../operations/operation.ts';
import { type ReconcileDeps, reconcile, type Tries } from './reconcile.ts';
import type { ReportedDrift } from './reported-drift.ts';

export type ReconcilerDeps = ReconcileDeps & {
  readonly intervalMs: number;
  /** This process does not compare now: what it has seen before is no longer to be shown. */
  readonly onStandby: () => void;
  /** A comparison came to nothing; the next one comes all the same. */
  readonly onFailure: (error: unknown) => void;
};

/** Compares once per interval, beginning one interval after this process has begun to work. */
export const createReconciler = (deps: ReconcilerDeps): LeasedWork =>
  workUnderLeases((lease) => compareUntilEnd(deps, lease), deps.onStandby);

async function compareUntilEnd(deps: ReconcilerDeps, lease: Lease): Promise<void> {
  const tries: Tries = new Map();
  while (!lease.signal.aborted) {
    try {
      await deps.clock.sleep(deps.intervalMs, lease);
      lease.check();
      await endingInTime(deps, lease, (bounded, end) => reconcile(bounded, tries, end));
    } catch (error) {
      if (!lease.signal.aborted) deps.onFailure(error);
    }
  }
}

/** A comparison has so long, or an interval where that is longer; and again after each command that it sends and each drift that it stores. */
const LONGEST_MS = 60_000;

/** What waits for a topic that cannot be read would come to no end, and count as no failure. */
async function endingInTime(
  deps: ReconcilerDeps,
  lease: Lease,
  compare: (deps: ReconcilerDeps, lease: Lease) => Promise<void>,
): Promise<void> {
  if (deps.mode === 'off') return compare(deps, lease);
  const longestMs = Math.max(deps.intervalMs, LONGEST_MS);
  const late = new AbortController();
  const begin = () =>
    deps.clock.after(longestMs, () =>
      late.abort(
        new Error(`it came to no end within ${Math.round(longestMs / 1_000)} s: a topic may not be readable`),
      ),
    );
  let timer = begin();
  // Hundreds of commands to a topic that does not take them end one after the other: without this nothing would be compared then.
  const goesOn = () => {
    timer.cancel();
    timer = begin();
  };
  const bounded: ReconcilerDeps = {
    ...deps,
    send: (topic, command) => deps.send(topic, command).finally(goesOn),
    onDrift(result) {
      goesOn();
      deps.onDrift(result);
    },
  };
  const signal = AbortSignal.any([lease.signal, late.signal]);
  const check = () => {
    lease.check();
    late.signal.throwIfAborted();
  };
  try {
    await compare(bounded, { ...lease, signal, check });
  } finally {
    timer.cancel();
  }
}

const PUBLISH_DEADLINE_MS = 15_000;
/** Longer than a request to the provider and the writes after it usually take. */
const CONFIRM_AFTER_MS = 2_000;

/** The reconciler of this process, on what the commands work with too. */
export function openReconciler(deps: {
  readonly control: OperationDeps &
    Pick<ReconcileDeps, 'finished' | 'commandDeadlineMs'> & { readonly call: ProviderCall };
  readonly settings: {
    readonly reconcile: ReconcileDeps['mode'];
    readonly reconcileIntervalMs: number;
    readonly reconcileRepairMax: number;
  };
  readonly commandTopics: readonly string[];
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly reported: ReportedDrift;
  readonly observe: Pick<
    ReconcilerDeps,
    'onDrift' | 'onCompared' | 'onStandby' | 'onFailure' | 'onUnsent' | 'onWithheld'
  >;
}): LeasedWork {
  const { control, settings, publisher, observe } = deps;
  return createReconciler({
    ...control,
    reported: deps.reported,
    newId,
    mode: settings.reconcile,
    repairMax: settings.reconcileRepairMax,
    intervalMs: settings.reconcileIntervalMs,
    confirmAfterMs: Math.min(CONFIRM_AFTER_MS, settings.reconcileIntervalMs),
    api: createProviderApi(control.call, control.dialect),
    async send(owner, command) {
      if (!deps.commandTopics.includes(owner))
        throw new HooklineError('NOT_OWNER', `${owner}, which this control does not read`);
      if (!takesRef(control.refPatterns(owner), command.ref))
        throw new HooklineError('NOT_OWNER', `COMMAND_TOPICS no longer gives ${command.ref} to ${owner}`);
      await publisher.publish(commandRecord(owner, command), PUBLISH_DEADLINE_MS);
    },
    ...observe,
  });
}
