import type { SubscriptionRecord } from '../../../src/subscriptions/subscription-record.ts';
import { START } from '../engine/simulation.ts';
import {
  byPosition,
  type EndedCommand,
  endedIn,
  nameOf,
  type SentCommand,
  type StoredResult,
} from './ledger.ts';
import type { ControlPlan } from './plan.ts';

type Judged = {
  readonly plan: ControlPlan;
  readonly commands: readonly SentCommand[];
  readonly results: readonly StoredResult[];
  readonly state: ReadonlyMap<string, SubscriptionRecord>;
};

/** Without a fault the provider refuses nothing, and nothing is unexpected. */
const NEVER = new Set(['INTERNAL', 'PROVIDER_REFUSED', 'TOKEN_REFUSED']);

/** Each command has one result, and the results of a ref, one after the other, lead to its state. */
export function judgeCommands(judged: Judged): string[] {
  const { plan, commands, results } = judged;
  const ofCommands = results.filter(({ result }) => result.status !== 'DRIFT');
  const found = byPosition(results);
  const faults = ofCommands
    .filter(
      (one) =>
        NEVER.has(one.result.errorCode ?? '') && !wasForgottenTwice(one, plan) && !wasRefused(one, plan),
    )
    .map(({ result }) => `${result.type} ${result.ref} ends with ${endOf(result)}: ${result.message}`);
  const missing = plan.commands
    .filter(({ number }) => !commands.some(({ fields }) => fields.commandId === `c-${number}`))
    .map(({ number }) => `command ${number} is not in its topic`);
  faults.push(...missing);
  for (const command of commands) {
    const what = nameOf(command);
    const own = found.get(`${command.partition}@${command.offset}`) ?? [];
    if (own.length === 0) faults.push(`${what} has no result`);
    const ends = new Set(own.map(({ result }) => endOf(result)));
    if (ends.size > 1) faults.push(`${what} has several results: ${[...ends].join(', ')}`);
    // Of a record that came twice only the first is remembered.
    const isFirst = commands.every(
      (one) => one.fields.commandId !== command.fields.commandId || one.offset >= command.offset,
    );
    if (isFirst) faults.push(...judgeRepeated(what, own, plan));
  }
  const ended = endedIn(commands, results);
  faults.push(...judgeDuplicates(ended));
  for (const [ref, of] of Map.groupBy(ended, ({ fields }) => fields.ref ?? ''))
    if (ref !== '') faults.push(...judgeRef(ref, of, judged.state.get(ref)));
  return faults;
}

/** One 401 gets a fresh token and is asked again: where that one is forgotten too meanwhile, the command ends. */
const wasForgottenTwice = ({ result, readableAt }: StoredResult, plan: ControlPlan): boolean =>
  result.errorCode === 'PROVIDER_REFUSED' &&
  result.httpStatus === 401 &&
  plan.faults.filter(({ kind, at }) => kind === 'provider-forgets-tokens' && at < readableAt).length > 1;

const wasRefused = ({ result }: StoredResult, plan: ControlPlan): boolean =>
  result.errorCode === 'PROVIDER_REFUSED' && plan.faults.some(({ kind }) => kind === 'provider-refuses');

const endOf = ({ status, errorCode }: EndedCommand['result']) => `${status} ${errorCode ?? ''}`.trimEnd();

/** A command is not carried out once more when its result is there to be read. */
function judgeRepeated(what: string, own: readonly StoredResult[], { faults }: ControlPlan): string[] {
  // Its times are the process's own then.
  if (faults.some(({ kind }) => kind === 'clock-jump')) return [];
  const [first, ...others] = own;
  return others
    .filter(({ value, result }) => {
      const begunAt = Number(result.receivedAt) - START;
      return first && !value.equals(first.value) && begunAt > first.readableAt + 1;
    })
    .map(() => `${what} is carried out again although its result is there`);
}

/** Of records with one id, the first is carried out. */
function judgeDuplicates(ended: readonly EndedCommand[]): string[] {
  return [...Map.groupBy(ended, ({ fields }) => fields.commandId)].flatMap(([id, of]) => {
    const [first, ...others] = of.toSorted((a, b) => a.offset - b.offset);
    const isDuplicate = ({ result }: EndedCommand) => result.status === 'DUPLICATE';
    const isPoison = ({ result }: EndedCommand) => result.errorCode === 'COMMAND_INVALID';
    return [
      ...(first && isDuplicate(first) ? [`${id} is a DUPLICATE of nothing`] : []),
      ...(others.every((one) => isDuplicate(one) || isPoison(one)) ? [] : [`${id} is carried out twice`]),
    ];
  });
}

/** What is known of a ref, by what its commands have ended with; undefined: either may be. */
export type Known = {
  isActive: boolean | undefined;
  id: string | null | undefined;
  events: string | undefined;
  /** An adoption has come to no end: what is there may go with the next one that fails. */
  isUnfinished: boolean;
  /** A creation anew has come to no end: until one has, it is not there for other commands, or it is. */
  isAnew?: boolean;
};

/** Each command ends with what the ones before it make of it; the last one leaves the state. */
function judgeRef(
  ref: string,
  ended: readonly EndedCommand[],
  record: SubscriptionRecord | undefined,
): string[] {
  const known: Known = { isActive: false, id: null, events: undefined, isUnfinished: false };
  const faults: string[] = [];
  for (const command of ended.toSorted((a, b) => a.offset - b.offset)) {
    const fault = follow(known, command);
    if (fault) faults.push(`${nameOf(command)} ends with ${endOf(command.result)}: ${fault}`);
  }
  const isActive = record?.state === 'ACTIVE';
  if (known.isActive !== undefined && isActive !== known.isActive)
    faults.push(`${ref}: the state is ${record?.state}, and its commands make it ${known.isActive}`);
  if (isActive && known.id !== undefined && record.subscriptionId !== known.id)
    faults.push(`${ref}: the state has ${record.subscriptionId} instead of ${known.id}`);
  const events = record?.events.toSorted().join(', ');
  if (isActive && known.events !== undefined && events !== known.events)
    faults.push(`${ref}: the state has the events "${events}" instead of "${known.events}"`);
  return faults;
}

const CERTAIN = new Set(
  ['create', 'update', 'delete', 'adopt'].map((operation) => `subscription.${operation}`),
);

export function follow(known: Known, { fields, result }: EndedCommand): string | undefined {
  const { status, errorCode } = result;
  if (status === 'DUPLICATE' || result.dryRun) return undefined;
  // Its time was up while a write of the state was on its way.
  const isAnew =
    fields.type === 'subscription.create' && fields.ifMatch !== undefined && known.isActive !== false;
  if (isAnew && status === 'FAILED') Object.assign(known, { isActive: undefined, isAnew: true });
  if (errorCode === 'COMMAND_TIMED_OUT' && fields.type !== 'webhook.replay') {
    known.events = undefined;
    if (fields.type !== 'subscription.update') Object.assign(known, { isActive: undefined, id: undefined });
    return undefined;
  }
  const events = fields.events?.toSorted().join(', ');
  if (status === 'SUCCEEDED' && CERTAIN.has(fields.type))
    Object.assign(known, { isUnfinished: false, isAnew: false });
  switch (`${fields.type} ${endOf(result)}`) {
    case 'subscription.create SUCCEEDED': {
      const fault = known.isActive && !isAnew ? 'it is there already' : undefined;
      Object.assign(known, { isActive: true, id: result.subscriptionId, events: events ?? '' });
      return fault;
    }
    case 'subscription.adopt SUCCEEDED': {
      const isOther = known.id != null && known.id !== result.subscriptionId;
      const fault = known.isActive && isOther ? `${known.id} is there` : undefined;
      Object.assign(known, { isActive: true, id: result.subscriptionId, events });
      return fault;
    }
    case 'subscription.adopt REJECTED REF_IN_USE':
    case 'subscription.create REJECTED REF_IN_USE':
      return isThere(known);
    case 'subscription.update SUCCEEDED':
      if (events !== undefined) known.events = events;
      return isThere(known);
    case 'subscription.delete SUCCEEDED':
      known.isActive = false;
      return undefined;
  }
  // It may have had an effect, and stay: then its subscription is verified.
  if (fields.type === 'subscription.adopt' && status === 'FAILED' && (!known.isActive || known.isUnfinished))
    Object.assign(known, { isActive: undefined, id: undefined, events: undefined, isUnfinished: true });
  const needsIt = fields.type === 'subscription.update' || fields.type === 'webhook.replay';
  if (needsIt && errorCode === 'UNKNOWN_REF') {
    const fault = known.isActive ? 'it is there' : undefined;
    if (!known.isAnew) known.isActive = false;
    return fault;
  }
  return needsIt && status !== 'REJECTED' ? isThere(known) : undefined;
}

function isThere(known: Known): string | undefined {
  const fault = known.isActive === false ? 'it is not there' : undefined;
  known.isActive = true;
  return fault;
}
