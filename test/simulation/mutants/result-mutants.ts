import type { Mutant } from './mutant.ts';

const STATE = 'control/operations/subscription-state.ts';

/** What results, dead-letter records and the state say of commands. */
export const RESULTS: readonly Mutant[] = [
  {
    of: 'control',
    name: 'only the first run of a replay is replayed',
    file: 'control/operations/replay-webhooks.ts',
    find: 'const executionIds = [...new Set(command.executionIds ?? [])];',
    put: 'const executionIds = [...new Set(command.executionIds ?? [])].slice(0, 1);',
  },
  {
    of: 'control',
    name: 'ifMatch does not count',
    file: 'control/check-command.ts',
    find: 'if (command.ifMatch === null || hasBegun(context)) return;',
    put: "if (command.ifMatch !== 'x' || hasBegun(context)) return;",
  },
  {
    of: 'control',
    name: 'what is no command is in no dead-letter record',
    file: 'control/run-command.ts',
    find: 'if (!read.ok) await deps.records.storeDeadLetter(record, read, lease);',
    put: '',
  },
  {
    of: 'control',
    name: 'the keys of the subscription before are forgotten at once',
    file: 'control/operations/sealed-keys.ts',
    find: 'return previous.length > 0 ? { previous } : {};',
    put: 'return {};',
  },
  {
    of: 'control',
    name: 'a deleted subscription is forgotten long before its time',
    file: STATE,
    find: '): boolean => wasDeletedBefore(record, clock.wall() - retired.keptMs);',
    put: '): boolean => wasDeletedBefore(record, clock.wall() - retired.keptMs / 10_000);',
  },
  {
    of: 'control',
    name: 'a list lacks its first subscription',
    file: 'control/operations/list-subscriptions.ts',
    find: 'ref: refs.get(id) ?? null }))',
    put: 'ref: refs.get(id) ?? null })).slice(1)',
  },
  {
    of: 'control',
    name: 'a result has another key',
    file: 'control/control-records.ts',
    find: 'return store({ topic, key: Buffer.from(result.commandId), value, headers }, lease, size);',
    put: 'return store({ topic, key: Buffer.from(result.type), value, headers }, lease, size);',
  },
  {
    of: 'control',
    name: 'a command has an eighth of its time',
    file: 'control/operations/provider-session.ts',
    find: 'endsAt = clock.now() + deadlineMs;\n    const timer = clock.after(deadlineMs,',
    put: 'endsAt = clock.now() + deadlineMs / 8;\n    const timer = clock.after(deadlineMs / 8,',
  },
];

/** What is reported of differences, and what commands that change nothing say. */
export const REPORTS: readonly Mutant[] = [
  {
    of: 'control',
    name: 'drift is reported at each comparison',
    file: 'control/reconciler/reconcile.ts',
    find: 'return before?.message !== textOf(drift) || before.subscriptionId !== drift.subscriptionId;',
    put: "return textOf(drift) !== '' || before === undefined;",
  },
  {
    of: 'control',
    name: 'the end of a drift is reported at each comparison',
    file: 'control/reconciler/reported-drift.ts',
    find: 'else this.#ended.set(subject, at);',
    put: 'else this.#open.set(subject, reported);',
  },
  {
    of: 'control',
    name: 'the end of a drift is not reported',
    file: 'control/reconciler/reconcile.ts',
    find: 'for (const before of deps.reported.open()) if (isOver(before)) await store(driftResolved(before, report()));',
    put: '',
  },
  {
    of: 'control',
    name: 'a list gives each subscription the ref of another',
    file: 'control/operations/list-subscriptions.ts',
    find: '[record.subscriptionId, record.ref]',
    put: "[record.subscriptionId, records.at(0)?.ref ?? '']",
  },
  {
    of: 'control',
    name: 'a dead-letter record names the offset behind its own',
    file: 'control/control-records.ts',
    find: '[NAMES.offset]: String(offset),',
    put: '[NAMES.offset]: String(Number(offset) + 1),',
  },
  {
    of: 'control',
    name: 'a dry run is not called one',
    file: 'control/result.ts',
    find: 'dryRun: command.dryRun,',
    put: 'dryRun: false,',
  },
  {
    of: 'control',
    name: 'a dry run deletes',
    file: 'control/operations/delete-subscription.ts',
    find: 'if (command.dryRun) {',
    put: 'if (command.dryRun && before === null) {',
  },
  {
    of: 'control',
    name: 'every second command counts as a duplicate',
    file: 'control/run-command.ts',
    find: 'isDuplicate: earlier !== undefined }',
    put: 'isDuplicate: earlier !== undefined || position.offset % 2 === 1 }',
  },
];
