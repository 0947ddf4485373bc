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
    file: STATE,
    find: 'return previous.length > 0 ? { previous } : {};',
    put: 'return {};',
  },
  {
    of: 'control',
    name: 'a deleted subscription is forgotten long before its time',
    file: STATE,
    find: "return record.state === 'RETIRED' && record.updatedAt + retiredKeysTtlMs < clock.wall();",
    put: "return record.state === 'RETIRED' && record.updatedAt + retiredKeysTtlMs / 10_000 < clock.wall();",
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
    find: 'return store({ topic, key: Buffer.from(result.commandId), value, headers }, lease);',
    put: 'return store({ topic, key: Buffer.from(result.type), value, headers }, lease);',
  },
  {
    of: 'control',
    name: 'a command has an eighth of its time',
    file: 'control/operations/provider-session.ts',
    find: 'endsAt = clock.now() + deadlineMs;\n    const timer = clock.after(deadlineMs,',
    put: 'endsAt = clock.now() + deadlineMs / 8;\n    const timer = clock.after(deadlineMs / 8,',
  },
];
