import type { Mutant } from './mutant.ts';

const of = 'control';
const FLOW = 'control/run-command.ts';
const CREATE = 'control/operations/create-subscription.ts';
const DELETE = 'control/operations/delete-subscription.ts';
const KEYS = 'control/operations/sealed-keys.ts';
const RECONCILE = 'control/reconciler/reconcile.ts';
const ADOPT = 'control/operations/adopt-subscription.ts';
const WORK = 'kafka/consume/partition-work.ts';
const ASSIGNED = 'kafka/consume/assigned-work.ts';
const CALL = 'provider/call-provider.ts';
const CLIENT = 'kafka/connect/kafkajs-patches.ts';

export const COMMANDS: readonly Mutant[] = [
  {
    of,
    file: CLIENT,
    name: 'a connection that was given up is made later',
    find: 'made.catch(() => socket.destroy());',
    put: 'made.catch(() => {});',
  },
  {
    of,
    file: WORK,
    name: 'a command is committed before its result is stored',
    find: 'const handled = await this.#untilEnd(record, () => this.#deps.handle(record, lease));',
    put: 'this.#settle(record); const handled = await this.#untilEnd(record, () => this.#deps.handle(record, lease));',
  },
  {
    of,
    file: WORK,
    name: 'what is committed may have gaps before it',
    find: 'return this.#next < 0n ? null : (first ?? this.#next);',
    put: 'return this.#next < 0n || first === undefined ? (this.#next < 0n ? null : this.#next) : this.#next;',
  },
  {
    of,
    file: FLOW,
    name: 'a result that is there is not looked for',
    find: 'if (earlier && isSamePosition(earlier, position)) return;',
    put: '',
  },
  {
    of,
    file: FLOW,
    name: 'results and state are not read to their end before a command',
    find: 'await Promise.all([deps.finished.caughtUp(lease.signal), deps.subscriptions.caughtUp(lease.signal)]);',
    put: '',
  },
  {
    of,
    file: 'control/read-command.ts',
    name: 'commands of one ref run beside each other',
    find: "if (ref !== '') return [",
    put: "if (ref !== '') return id;\n  if (ref !== '') return [",
  },
  {
    of,
    file: CREATE,
    name: 'a subscription is created without an intent',
    find: "await store({ state: 'REQUESTED', subscriptionId: null, replaced }, secrets);",
    put: '{ ...before, replaced } as never;',
  },
  {
    of,
    file: CREATE,
    name: 'a created subscription is not stored',
    find: "await store({ state: 'ACTIVE', subscriptionId: id }, complete);",
    put: '',
  },
  {
    of,
    file: CREATE,
    name: 'an intent is withdrawn although its effect may come',
    find: '!ended.mayBeThere ||',
    put: 'true ||',
  },
  {
    of,
    file: CREATE,
    name: 'the address is not cleared before a creation that is resumed',
    find: 'await clearAddress(context, isResumed);',
    put: 'isResumed ? new Set<string>() : await clearAddress(context, false);',
  },
  {
    of,
    file: ADOPT,
    name: 'an adoption that is resumed takes its own record for what was before',
    find: 'const before = unfinished ? beforeCommand(context, unfinished) : current;',
    put: 'const before = current;',
  },
  {
    of,
    file: ADOPT,
    name: 'an adoption that comes to nothing is not withdrawn',
    find: 'if (isSame || !mayBeDone) await withdraw(context, record);',
    put: 'if (isSame) await withdraw(context, record);',
  },
  {
    of,
    file: ADOPT,
    name: 'an adoption is withdrawn although it may have had its effect',
    find: 'if (isSame || !mayBeDone) await withdraw(context, record);',
    put: 'if (isSame || !mayStillCome) await withdraw(context, record);',
  },
  {
    of,
    file: ADOPT,
    name: 'what a creation has left stays when another subscription is adopted',
    find: 'await clearAddress(context, true, { stays: (id) => id === subscriptionId });',
    put: '',
  },
  {
    of,
    file: ADOPT,
    name: 'an adoption stays unfinished although it was carried out',
    find: 'await storeState(context, { ...active, sealedKeys, events, begunBy: command.commandId });',
    put: '',
  },
  {
    of,
    file: DELETE,
    name: 'an adoption that is given up deletes what is elsewhere',
    find: 'if (!(await isElsewhere(context, adopted))) return adopted;',
    put: 'if (adopted) return adopted;',
  },
  {
    of,
    file: CREATE,
    name: 'files of an earlier subscription shut out a new one',
    find: '!signingSecrets.includes(created.signingSecret) ? SHUT_OUT : null;',
    put: '!signingSecrets.includes(created.signingSecret) ? null : null;',
  },
  {
    of,
    file: DELETE,
    name: 'a deletion is not stored',
    find: 'await storeState(context, { ...retired, events: left.events, sealedKeys });',
    put: '',
  },
  {
    of,
    file: 'control/operations/update-subscription.ts',
    name: 'an update is not stored',
    find: 'await storeState(context, { ...updated, sealedKeys: withTaken(context, noted, updated, told) });',
    put: '',
  },
];

export const REPAIRS: readonly Mutant[] = [
  {
    of,
    file: RECONCILE,
    name: 'drift is not reported',
    find: 'for (const drift of confirmed.filter(isNews)) await store(driftResult(drift, report()));',
    put: '',
  },
  {
    of,
    file: RECONCILE,
    name: 'drift is not repaired',
    find: "if (deps.mode === 'repair') await repair(deps, confirmed, tries, lease);",
    put: '',
  },
  {
    of,
    file: RECONCILE,
    name: 'drift is repaired once',
    find: 'return (count & (count - 1)) === 0 || count % LONGEST_PAUSE === 0;',
    put: 'return count === 1;',
  },
  {
    of,
    file: CREATE,
    name: 'what is missing is created anew by any command',
    find: 'if (context.command.ifMatch === null || isUnfinished(active)) return false;',
    put: 'if (isUnfinished(active)) return false;',
  },
  {
    of,
    file: CREATE,
    name: 'a creation anew that comes to nothing leaves nothing',
    find: 'const replaced = replacing(context, isResumed ? beforeCommand(context, before) : before);',
    put: 'const replaced = replacing(context, isResumed ? beforeCommand(context, before) : active ? null : before);',
  },
  {
    of,
    file: KEYS,
    name: 'the keys of what is created anew are forgotten',
    find: '...(subscriptionId === null ? [] :',
    put: "...(before.state !== 'RETIRED' || subscriptionId === null ? [] :",
  },
];

export const PROVIDER: readonly Mutant[] = [
  {
    of,
    file: 'provider/judge-answer.ts',
    name: '5xx counts as a refusal',
    find: "return status >= 300 && status < 500 ? 'refused' : 'unknown';",
    put: "return status >= 300 ? 'refused' : 'unknown';",
  },
  {
    of,
    file: CALL,
    name: 'a lost answer counts as no effect',
    find: "judgement: 'unknown',\n    status: null,",
    put: "judgement: 'later',\n    status: null,",
  },
  {
    of,
    file: CALL,
    name: 'a token that is not taken is shown again',
    find: "if (outcome.judgement === 'unauthorised') deps.tokens.reject(token);",
    put: '',
  },
  {
    of,
    file: CALL,
    name: 'the lease is not checked before a request',
    find: 'patience?.lease.check();',
    put: '',
  },
];

export const ONE_WORKS: readonly Mutant[] = [
  {
    of,
    file: 'kafka/consume/single-worker-assigner.ts',
    name: 'every process is given the partitions',
    find: 'assignment: memberId === worker ? byTopic(partitions) : {},',
    put: 'assignment: worker ? byTopic(partitions) : {},',
  },
  {
    of,
    file: 'kafka/consume/group-lease.ts',
    name: 'a lease lasts as long as the process believes',
    find: 'return this.leftMs <= 0;',
    put: 'return this.#begunAt < 0;',
  },
  {
    of,
    file: 'kafka/connect/platformatic-client.ts',
    name: 'a machine goes on sending what was not answered in time',
    find: 'else if (made.socket) resetWhenDestroyed(made.socket);',
    put: '',
  },
  {
    of,
    file: ASSIGNED,
    name: 'what is done is not committed after the lease',
    find: 'const { committed } = work;',
    put: 'const { mark: committed } = work;',
  },
];

export const CONSUMING: readonly Mutant[] = [
  {
    of,
    file: ASSIGNED,
    name: 'a process goes on when it has left the group, or is given nothing',
    find: 'this.#count = Object.values(assignment).flat().length;',
    put: 'if (Object.keys(assignment).length === 0) return;\n    this.#count = Object.values(assignment).flat().length;',
  },
  {
    of,
    file: CLIENT,
    name: 'a commit that failed is sent again behind newer ones',
    find: 'runner.commitOffsets = async',
    put: '({} as Runner).commitOffsets = async',
  },
  {
    of,
    file: CLIENT,
    name: 'a member goes on as one of two generations',
    find: 'if (offsetManager && offsetManager.generationId !== this.generationId)',
    put: 'if (offsetManager && this.generationId === null)',
  },
  {
    of,
    file: CLIENT,
    name: 'commits go to the broker that coordinated when the group was joined',
    find: "if ((error as { type?: string }).type === 'NOT_COORDINATOR_FOR_GROUP')",
    put: "if (groupId === '')",
  },
  {
    of,
    file: CLIENT,
    name: 'a member that the group has forgotten fetches on',
    find: 'if (!this.memberId) throw createErrorFromCode(UNKNOWN_MEMBER_ID);',
    put: '',
  },
  {
    of,
    file: CLIENT,
    name: 'no heartbeat is sent while the clock is behind',
    find: 'if (this.lastRequest > Date.now()) this.lastRequest = 0;',
    put: '',
  },
];
