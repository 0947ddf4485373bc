import type { CommandSchemas } from '../avro/command-schemas.ts';
import { createRecordReader } from '../avro/record-reader.ts';
import type { Registry } from '../avro/registry.ts';
import type { SchemaIds } from '../avro/resolve-ids.ts';
import { refPatternsOf } from '../config/command-topics.ts';
import type { Lease, LeasedWork } from '../core/lease.ts';
import { newId } from '../crypto/ids.ts';
import type { SealingKeys } from '../crypto/sealing.ts';
import type { GroupReaderDeps } from '../kafka/consume/group-reader.ts';
import type { Publisher } from '../kafka/produce/publisher.ts';
import type { ProviderCall } from '../provider/call-provider.ts';
import type { Clock } from '../runtime/clock.ts';
import { claimState } from './claim-state.ts';
import type { ControlConfig } from './config.ts';
import { createControlRecords } from './control-records.ts';
import type { FollowedState } from './follow-state.ts';
import type { ControlObserver } from './observe-control.ts';
import type { OperationDeps } from './operations/operation.ts';
import { createCommandReader, keysOf } from './read-command.ts';
import { openReconciler } from './reconciler/start-reconciler.ts';
import { type ControlDeps, runCommand } from './run-command.ts';

export type OpenControlDeps = {
  readonly config: ControlConfig;
  readonly schemas: CommandSchemas;
  readonly ids: SchemaIds;
  readonly registry: Registry;
  readonly sealingKeys: SealingKeys;
  readonly publisher: Pick<Publisher, 'publish' | 'abandon'>;
  readonly state: FollowedState;
  readonly call: ProviderCall;
  readonly dirSecrets: OperationDeps['dirSecrets'];
  /** Counts open dead-letter records while this process works. */
  readonly openDeadLetters: Pick<LeasedWork, 'working'>;
  readonly observe: ControlObserver;
  readonly clock: Clock;
};

/** Runs the commands that are read; and the reconciler, which runs while this process works. */
export type Control = Pick<GroupReaderDeps, 'keysOf' | 'handle' | 'onWorking'> & { stop(): Promise<void> };

/** Puts together what the flow of a command needs: the records that it writes, the claim of the state, the operations. */
export function openControl(deps: OpenControlDeps): Control {
  const { config, schemas, ids, publisher, state, observe, clock } = deps;
  const { retiredKeysTtlMs } = config.subscriptions;
  const { publicUrl, commandDeadlineMs, sessionTimeoutMs, retiredDecryptionKeysTtlMs } = config.control;
  const { prefix } = config.topics;
  const records = createControlRecords({
    publisher,
    prefix,
    schemas,
    ids,
    sessionTimeoutMs,
    clock,
    ...observe.records,
    onStored(position) {
      state.wrote(position);
      observe.records.onStored(position);
    },
  });
  const claim = claimState({ table: state.subscriptions, records, newId, ...observe.claim });
  const control: ControlDeps = {
    publicUrl,
    commandDeadlineMs,
    records,
    clock,
    retired: { liveMs: retiredKeysTtlMs, keptMs: Math.max(retiredKeysTtlMs, retiredDecryptionKeysTtlMs) },
    call: deps.call,
    dialect: config.provider.dialect,
    sealingKeys: deps.sealingKeys,
    subscriptions: state.subscriptions,
    finished: state.finished,
    readCommand: createCommandReader(
      createRecordReader(schemas.command.codec, ids.of(schemas.command), deps.registry, clock),
    ),
    acquireState: claim.acquire,
    dirSecrets: deps.dirSecrets,
    refPatterns: (topic) => refPatternsOf(config.commandTopics, topic),
    observe: observe.finished,
    unnamed: observe.unnamed,
  };
  const reconciler = openReconciler({
    control,
    settings: config.control,
    publisher,
    observe: observe.reconciler,
    commandTopics: config.commandTopics.map(({ name }) => name),
    reported: state.reported,
  });
  return {
    keysOf: (record) => keysOf(record, control.readCommand),
    handle: (record, lease) => runCommand(record, control, lease),
    onWorking(lease: Lease | null) {
      observe.working(lease !== null);
      // Another process may carry out the same commands now: what is under way must not come behind its results.
      if (!lease) publisher.abandon();
      claim.working(lease);
      deps.openDeadLetters.working(lease);
      reconciler.working(lease);
    },
    stop: () => reconciler.stop(),
  };
}
