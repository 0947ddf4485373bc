import type { KeyRow } from '../../cli/keys/key-rows.ts';
import type { SubscriptionRecord } from '../../subscriptions/subscription-record.ts';
import { failureOf } from '../commands/show-results.ts';
import type { ConsoleDeps } from '../page/console-deps.ts';
import { address, formValue, type Html, html, type Shown } from '../page/html.ts';
import { definePage, type Fields, type Page, type PageRequest, typedIn } from '../page/page.ts';
import { badge, table, time } from '../page/parts.ts';
import type { DriftReport } from '../results/held-results.ts';
import type { ReadFailure, ResultLog } from '../results/result-log.ts';
import { ingressKeys, type KeysKnown, notMatched } from '../watch/ingress-keys.ts';
import type { Watch } from '../watch/watch.ts';
import { applyChange, planChange } from './plan-changes.ts';
import { stateTable } from './state-table.ts';

/** A subscription without its sealed secrets. */
type Line = Pick<
  SubscriptionRecord,
  'ref' | 'state' | 'subscriptionId' | 'events' | 'owner' | 'commandId' | 'updatedAt'
> & {
  /** What the reconciler reported last. */
  readonly drift: string | null;
  readonly keys: readonly KeyRow[];
};

type Subscriptions = {
  readonly at: number;
  readonly subscriptions: readonly Line[];
  /** At the provider, and not created by Hookline. */
  readonly foreign: readonly string[];
  /** Not all reports of drift are known here. */
  readonly isDriftPartial: boolean;
  readonly failure: ReadFailure | null;
  /** How far the keys are known. */
  readonly keysKnown: KeysKnown;
};

const MOODS = { ACTIVE: 'good', REQUESTED: 'note', RETIRED: 'quiet' } as const;

/** What Hookline subscribes to, how old its keys are, and whether the provider has the same; and a file's plan. */
export function subscriptionsPage(
  deps: ConsoleDeps,
  { watch, results }: { readonly watch: Watch; readonly results: () => Promise<ResultLog> },
): Page {
  const table = stateTable(deps);
  const look = async (): Promise<Subscriptions> => {
    const [state, log] = await Promise.all([table(), results()]);
    const drifts = log.drift();
    const { keys, keysKnown } = ingressKeys(watch.pods());
    const driftOf = new Map(drifts.map((drift) => [drift.ref, drift]));
    const keysByRef = Map.groupBy(keys, ({ ref }) => ref);
    const lines = state
      .all()
      .map((record) => lineOf(record, driftOf.get(record.ref), keysByRef.get(record.ref) ?? []));
    return {
      at: deps.clock.wall(),
      subscriptions: lines.sort((a, b) => a.ref.localeCompare(b.ref)),
      foreign: drifts
        .filter(({ ref }) => ref === null)
        .map(({ subscriptionId, message }) => `${subscriptionId}: ${message}`),
      isDriftPartial: log.isDriftPartial,
      failure: log.failure,
      keysKnown,
    };
  };
  return definePage<Subscriptions>({
    path: '/subscriptions',
    title: 'Subscriptions',
    navigation: 'Subscriptions',
    role: 'view',
    cli: () => 'hookline subscriptions plan -f subscriptions.yaml',
    data: look,
    render: (data, request) =>
      html`${listOf(data)}${
        request.may('operate')
          ? planForm({}, request)
          : html`<p class="quiet">Users with the role operate can compare a file with this, and apply it.</p>`
      }`,
    changes: [
      { ...planChange(deps), again: planForm },
      { ...applyChange(deps), again: planForm },
    ],
  });
}

function lineOf(record: SubscriptionRecord, drift: DriftReport | undefined, keys: readonly KeyRow[]): Line {
  const { ref, state, subscriptionId, events, owner, commandId, updatedAt } = record;
  return {
    ref,
    state,
    subscriptionId,
    events,
    owner,
    commandId,
    updatedAt,
    drift: drift ? `${drift.errorCode}: ${drift.message}` : null,
    keys,
  };
}

export const listOf = ({
  subscriptions,
  foreign,
  isDriftPartial,
  failure,
  keysKnown,
}: Subscriptions): Html => html`<section>
${failureOf(failure)}
${table(
  'Subscriptions',
  [
    {
      title: 'ref',
      cell: ({ ref }: Line) => html`<a href="${address('/commands', { ref })}">${ref}</a>`,
      isLong: true,
    },
    { title: 'state', cell: ({ state }) => badge(state, MOODS[state] ?? 'quiet') },
    { title: 'events', cell: ({ events }) => events.join(', ') },
    { title: 'owner', cell: ({ owner }) => html`<code>${owner}</code>` },
    { title: 'keys matched', cell: ({ keys }) => keysOf(keys, keysKnown) },
    {
      title: 'drift',
      cell: ({ drift }) => (drift ? badge(drift, 'note') : html`<span class="quiet">none reported</span>`),
      isLong: true,
    },
    { title: 'changed', cell: ({ updatedAt }) => time(updatedAt) },
  ],
  subscriptions,
  'There are no subscriptions.',
)}
${isDriftPartial && html`<p class="quiet">Drift may be missing: not all of its reports are read yet, or there are too many.</p>`}
${
  foreign.length > 0 &&
  html`<h2>At the provider, not Hookline's</h2><ul>${foreign.map((one) => html`<li><code>${one}</code></li>`)}</ul>`
}</section>`;

/** The page does not change: "5 s ago" would soon be untrue. */
function keysOf(keys: readonly KeyRow[], known: KeysKnown): Shown {
  if (keys.length === 0) return known.unknown ?? html`<span class="quiet">no live key</span>`;
  const nameOf = ({ use, key }: KeyRow) => `${use}${key === '0' ? '' : ` (${key} before the current one)`}`;
  const lines = [...Map.groupBy(keys, ({ lastMatched }) => lastMatched)].map(
    ([at, same]) =>
      html`<div>${same.map(nameOf).join(', ')}: ${at === null ? notMatched(known) : time(Date.parse(at))}</div>`,
  );
  // One element: a narrow screen lays the cell out as a grid.
  return html`<div>${lines}</div>`;
}

const planForm = (
  fields: Fields,
  { csrfField }: Pick<PageRequest, 'csrfField'>,
): Html => html`<section><h2>Plan of a file</h2>
<form method="post" action="/subscriptions/plan">
${csrfField}
<p hidden><label for="upload">A file of this computer</label><input id="upload" type="file" accept=".yaml,.yml,text/yaml" data-into="file"></p>
<p class="whole"><label for="file">Its text (YAML)</label><textarea id="file" name="file" required spellcheck="false" aria-describedby="file-hint" placeholder="subscriptions:&#10;  ledger-eu:&#10;    events: [payment-status]">${formValue(typedIn(fields, 'file'))}</textarea><span class="hint" id="file-hint">Nothing is changed before you have seen the plan.</span></p>
<p><label class="check"><input type="checkbox" name="noRefresh" value="true"${fields.noRefresh === 'true' && html` checked`}> Compare with the state only: do not ask control what the provider has</label></p>
<p class="buttons"><button class="second">Make the plan</button></p>
</form></section>`;
