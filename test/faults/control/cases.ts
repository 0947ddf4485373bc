import { type ControlKit, PUBLIC_URL, type Subscription } from './control-kit.ts';

/** One type of command: what is there before it, and what has to be so when it has succeeded. */
export type Case = {
  readonly name: string;
  /** A subscription of the ref is created before. */
  readonly onSubscription: boolean;
  readonly prepare?: (kit: ControlKit, ref: string) => Promise<Record<string, unknown>>;
  readonly command: Record<string, unknown>;
  /** What the provider must have for the ref's address, and the state say. */
  readonly leaves: {
    readonly subscriptions: 0 | 1;
    readonly state: string | null;
    readonly events?: readonly string[];
  };
  /** Faults of the provider that hit it. */
  readonly faults?: readonly object[];
};

const EVENTS = ['payment-status'];
const OTHER_EVENTS = ['payment-status', 'accounts-entries'];
/** It has one: what has begun is noted before the call, which is a write of its own. */
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

export const CASES: readonly Case[] = [
  {
    name: 'create',
    onSubscription: false,
    command: { type: 'subscription.create', events: EVENTS },
    leaves: { subscriptions: 1, state: 'ACTIVE', events: EVENTS },
  },
  {
    name: 'create, its first answer lost',
    onSubscription: false,
    command: { type: 'subscription.create', events: EVENTS },
    leaves: { subscriptions: 1, state: 'ACTIVE', events: EVENTS },
    faults: [{ operation: 'create', kind: 'drop-after', times: 1 }],
  },
  {
    name: 'update',
    onSubscription: true,
    command: { type: 'subscription.update', events: OTHER_EVENTS, expiresAt: inAnHour() },
    leaves: { subscriptions: 1, state: 'ACTIVE', events: OTHER_EVENTS },
  },
  {
    name: 'delete',
    onSubscription: true,
    command: { type: 'subscription.delete', expiresAt: inAnHour() },
    leaves: { subscriptions: 0, state: 'RETIRED' },
  },
  {
    name: 'list',
    onSubscription: false,
    command: { type: 'subscription.list' },
    leaves: { subscriptions: 0, state: null },
  },
  {
    name: 'adopt',
    onSubscription: false,
    async prepare({ sandbox, fixture }, ref) {
      const { id, signingSecret } = await sandbox.seed(`${PUBLIC_URL}/elsewhere/${ref}`);
      fixture.secrets(ref, { 'subscription-id': id, 'signing-secret': signingSecret });
      return {};
    },
    command: { type: 'subscription.adopt', events: OTHER_EVENTS },
    leaves: { subscriptions: 1, state: 'ACTIVE', events: OTHER_EVENTS },
  },
  {
    name: 'replay',
    onSubscription: true,
    async prepare({ sandbox }, ref) {
      const runs = [1, 2].map(() => sandbox.trigger({ ref, wait: 'final' }));
      const executionIds = (await Promise.all(runs)).flatMap(({ json }) =>
        json.executions.map(({ id }: Subscription) => id),
      );
      return { executionIds };
    },
    command: { type: 'webhook.replay', expiresAt: inAnHour() },
    leaves: { subscriptions: 1, state: 'ACTIVE', events: EVENTS },
  },
];

export type Verdict = {
  readonly subscriptions: number;
  readonly results: string;
  readonly state: string;
  /** What is not as it should be. */
  readonly wrong: readonly string[];
};

/** Holds what is at the provider, in the state and in the results against what the command had to leave. */
export async function judge(
  kit: ControlKit,
  of: Case,
  { ref, commandId }: { ref: string; commandId: string },
): Promise<Verdict> {
  const there = (await kit.subscriptions()).filter(({ url }) => url === `${PUBLIC_URL}/webhooks/${ref}`);
  const results = kit.results(commandId);
  const state = kit.state(ref);
  const { leaves } = of;
  const wrong: string[] = [];
  const hold = (isSo: boolean, what: string) => void (isSo || wrong.push(what));
  hold(there.length === leaves.subscriptions, `${there.length} subscriptions`);
  hold(results[0]?.status === 'SUCCEEDED', `first result ${results[0]?.status} ${results[0]?.errorCode}`);
  hold(
    new Set(results.map(({ status, subscriptionId }) => `${status} ${subscriptionId}`)).size === 1,
    'results differ',
  );
  hold((state?.state ?? null) === leaves.state, `state ${state?.state}`);
  if (leaves.subscriptions === 1) {
    hold(state?.subscriptionId === there[0]?.id, 'the state names another subscription');
    hold(results[0]?.subscriptionId === there[0]?.id, 'the result names another subscription');
    hold(sorted(state?.events) === sorted(leaves.events), `events in the state ${state?.events}`);
    hold(sorted(there[0]?.events) === sorted(leaves.events), `events there ${there[0]?.events}`);
  }
  return {
    subscriptions: there.length,
    results: results.map(({ status }) => status).join(', '),
    state: String(state?.state ?? '-'),
    wrong,
  };
}

/** Both spellings of an event are one. */
const sorted = (events: unknown) =>
  ((events ?? []) as string[])
    .map((event) => event.replaceAll('_', '-'))
    .sort()
    .join();
