import { expect, it } from 'vitest';
import { createBreaker } from '../../../src/provider/breaker.ts';
import { createProviderCall } from '../../../src/provider/call-provider.ts';
import { DEFAULT_DIALECT } from '../../../src/provider/dialect.ts';
import { createProviderApi } from '../../../src/provider/provider-api.ts';
import { createTokenSource } from '../../../src/provider/token-source.ts';
import { actorClock } from '../engine/actor-clock.ts';
import { Actor, Simulation } from '../engine/simulation.ts';
import { Network } from '../net/network.ts';
import { ModelProvider, PROVIDER_URL, type ProviderFault } from './model-provider.ts';
import { BegunCalls, simulatedHttp } from './simulated-http.ts';

const SETTINGS = { authUrl: PROVIDER_URL, scope: 'a', grantType: 'g', clientAssertionType: 't' };

/** The product's calls of the provider, before the model. */
async function run<T>(
  fault: ProviderFault['kind'] | undefined,
  work: (api: ReturnType<typeof createProviderApi>) => Promise<T>,
) {
  const simulation = new Simulation(7);
  const network = new Network(simulation);
  const provider = new ModelProvider(simulation, network);
  const actor = new Actor('control');
  const clock = actorClock(simulation, actor, simulation.random('control'));
  const begun = new BegunCalls();
  const http = simulatedHttp(network, actor, { clock, begun });
  const assertion = async () => 'jwt';
  const onRequest = () => {};
  const tokens = createTokenSource({ settings: SETTINGS, http, assertion, onNarrowerScope() {}, clock });
  const call = createProviderCall({ baseUrl: PROVIDER_URL, http, tokens, onRequest, clock });
  const breaker = createBreaker({ call, onChange() {}, clock });
  let ended: T | undefined;
  simulation.after(0, actor, () => {
    void breaker
      .call({ method: 'GET', path: '/subscriptions' })
      .then(() => {
        provider.fault = fault && { kind: fault, chance: 1, ms: 20_000 };
      })
      .then(() => work(createProviderApi(breaker.call, DEFAULT_DIALECT)))
      .then((value) => {
        ended = value;
      });
  });
  await simulation.runUntil(90_000);
  return { ended, provider, begun: begun.all };
}

const VALUES = { ref: 'a', url: 'https://hooks.example/webhooks/a', events: ['payment_status'] };

it('creates, changes, lists and deletes, with a token', async () => {
  const { ended, provider, begun } = await run(undefined, async (api) => {
    const { created } = await api.create(VALUES, {});
    const id = created?.id ?? '';
    await api.update(id, { ...VALUES, events: ['accounts-entries'] }, {});
    const { items } = await api.list();
    const replayed = await api.replay({ executionId: 'run-1' }, {});
    const removed = [await api.remove(id), await api.remove(id)].map(({ judgement }) => judgement);
    return { secret: created?.signingSecret?.length, items, replayed: replayed.judgement, removed };
  });
  expect(ended?.secret).toBe(36);
  expect(ended?.items).toMatchObject([{ url: VALUES.url, events: ['accounts-entries'], isActive: true }]);
  expect([ended?.replayed, ended?.removed]).toEqual(['done', ['done', 'gone']]);
  expect(provider.subscriptions.size).toBe(0);
  expect(begun.map(({ what }) => what).slice(0, 2)).toEqual(['POST /oauth/token', 'GET /subscriptions']);
});

it.each([
  ['lost', 'unknown', 1],
  ['swallowed', 'unknown', 1],
  ['late', 'done', 1],
  ['forsaken', 'unknown', 1],
  ['failed', 'unknown', 0],
  ['failed-after', 'unknown', 1],
  ['twice', 'done', 2],
  ['busy', 'later', 0],
] as const)('%s: the outcome is %s, and it takes effect %d times', async (kind, judgement, effects) => {
  const { ended, provider } = await run(kind, (api) => api.create(VALUES, {}));
  expect(ended?.judgement).toBe(judgement);
  expect(provider.subscriptions.size).toBe(effects);
});
