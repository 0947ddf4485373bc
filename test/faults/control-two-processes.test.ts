import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compactTopic } from '../support/compact-topic.ts';
import type { RunningProcess } from '../support/running-process.ts';
import { until } from '../support/until.ts';
import { judgeMix, mixCommands, outOfOrder } from './control/command-mix.ts';
import { type ControlKit, openControlKit, PUBLIC_URL } from './control/control-kit.ts';
import { createRandom, type Random } from './random.ts';

const FENCED = 'a late record of an earlier control process does not count: the state is written again';

let kit: ControlKit;

beforeAll(async () => {
  kit = await openControlKit();
});

afterAll(() => kit?.[Symbol.asyncDispose]());

const FAULTS = [
  { kind: 'drop-before' },
  { kind: 'drop-after' },
  { kind: 'status', code: 500, effect: true },
  { kind: 'status', code: 503 },
  { kind: 'status', code: 429 },
  { kind: 'truncated-body' },
  { kind: 'html-200', effect: true },
  { kind: 'delay', ms: 700 },
];
const OPERATIONS = ['create', 'update', 'delete', 'list', 'token'];

const running = async () => {
  const control = kit.start();
  await control.logged('reading commands');
  return control;
};

const at = async (ref: string) =>
  (await kit.subscriptions()).filter(({ url }) => url === `${PUBLIC_URL}/webhooks/${ref}`);

/** Kills one of the two after the other, at random times, and starts it again. */
async function killAtRandom(
  controls: RunningProcess[],
  random: Random,
  signal: AbortSignal,
): Promise<number> {
  let kills = 0;
  while (await sleep(random.between(1_000, 5_000), true, { signal }).catch(() => false)) {
    const which = random.between(0, 1);
    controls[which]?.kill('SIGKILL');
    await controls[which]?.end();
    controls[which] = kit.start();
    kills++;
  }
  return kills;
}

async function failAtRandom(random: Random, signal: AbortSignal): Promise<void> {
  do {
    const rules = OPERATIONS.map((operation) => ({
      operation,
      times: random.between(1, 3),
      ...random.pick(FAULTS.filter(({ kind }) => operation !== 'token' || kind !== 'html-200')),
    }));
    await kit.sandbox.fail(...rules);
  } while (await sleep(random.between(500, 2_000), true, { signal }).catch(() => false));
  await kit.sandbox.call('DELETE', '/_sandbox/faults');
}

describe('two control processes', () => {
  it.each([1, 2, 3])(
    'that are killed at random, the provider failing at random: 500 commands over 50 refs, seed %i',
    async (seed) => {
      const random = createRandom(seed, 'commands');
      const mix = mixCommands({ random, count: 500, refs: 50, name: `seed${seed}` });
      const controls = [await running(), await running()];
      const over = new AbortController();
      const kills = killAtRandom(controls, createRandom(seed, 'kills'), over.signal);
      const faults = failAtRandom(createRandom(seed, 'faults'), over.signal);
      for (const [n, command] of mix.sent.entries()) {
        await kit.send(command);
        if (n % 10 === 9) await sleep(500);
      }
      over.abort();
      await faults;
      const killed = await kills;
      await kit.settled(
        mix.sent.map(({ commandId }) => commandId),
        240_000,
      );
      expect(await judgeMix(kit, mix)).toEqual([]);
      expect(outOfOrder(kit, mix.sent)).toEqual([]);
      expect(killed).toBeGreaterThan(3);
      console.log(`seed ${seed}: ${mix.sent.length} commands, ${killed} kills`);
      await Promise.all(controls.map((control) => control.stop()));
    },
  );

  const KEYS = ['ref', 'another', 'third', null, 'fourth'];
  const create = (commandId: string, ref: string) => {
    return { commandId, ref, type: 'subscription.create', events: ['payment-status'] };
  };

  it.each([
    ['under its ref', 'same-key', KEYS.map(() => 'ref')],
    ['under several keys and none', 'other-keys', KEYS],
  ])('carry a command out once that comes five times: %s', async (_, name, keys) => {
    const controls = await Promise.all([running(), running()]);
    const ids = Array.from({ length: 10 }, (_, n) => `${name}-${n}`);
    for (const id of ids)
      await Promise.all(keys.map((key) => kit.send(create(id, id), key === 'ref' ? id : key)));
    await until('each has five results', () => ids.every((id) => kit.results(id).length >= 5), 60_000);
    for (const id of ids) {
      expect(await at(id)).toHaveLength(1);
      const [first, ...further] = kit.results(id);
      expect(first).toMatchObject({ status: 'SUCCEEDED' });
      expect(kit.state(id)).toMatchObject({ state: 'ACTIVE', subscriptionId: first?.subscriptionId });
      expect(further.map(({ status }) => status)).toEqual(further.map(() => 'DUPLICATE'));
    }
    await Promise.all(controls.map((control) => control.stop()));
  });

  it.each([
    ['one ref', 'one-ref', (n: number) => [`one-ref-${n}`, 'one-ref'], 'REJECTED REF_IN_USE'],
    ['one id', 'one-id', (n: number) => ['one-id', `one-id-${n}`], 'DUPLICATE COMMAND_DUPLICATE'],
  ] as const)('carry out the first of five commands of %s under five keys', async (_, name, of, others) => {
    const controls = await Promise.all([running(), running()]);
    await Promise.all(
      KEYS.map((key, n) => {
        const [id = '', ref = ''] = of(n);
        return kit.send(create(id, ref), key);
      }),
    );
    const results = () => kit.allResults().filter(({ commandId }) => commandId.startsWith(name));
    await until('all have their results', () => results().length >= 5, 60_000);
    expect(
      results()
        .map(({ status, errorCode }) => (errorCode ? `${status} ${errorCode}` : status))
        .sort(),
    ).toEqual(['SUCCEEDED', others, others, others, others].sort());
    const there = (await kit.subscriptions()).filter(({ url }) => url.includes(`/webhooks/${name}`));
    expect(there.map(({ id }) => id)).toEqual(
      results().flatMap(({ status, subscriptionId }) => (status === 'SUCCEEDED' ? [subscriptionId] : [])),
    );
    await Promise.all(controls.map((control) => control.stop()));
  });

  it('one of which is frozen until the other has taken its place: it does nothing more to the command', async () => {
    const frozen = await running();
    const intentStored = { name: 'Produce subscriptions', nth: 1, side: 'after' } as const;
    await new Promise<void>((reached) => {
      kit.gate.at(intentStored, () => {
        frozen.kill('SIGSTOP');
        reached();
      });
      void kit.send(create('frozen', 'frozen'));
    });
    const other = await running();
    await kit.settled(['frozen']);
    frozen.kill('SIGCONT');
    // It has taken the other's place again: what it was about to do then it has done or left by now.
    await other.stop();
    await kit.send(create('after', 'after'));
    await kit.settled(['after']);
    const there = await at('frozen');
    expect(there).toHaveLength(1);
    expect(kit.results('frozen')).toMatchObject([{ status: 'SUCCEEDED', subscriptionId: there[0]?.id }]);
    expect(kit.state('frozen')).toMatchObject({ state: 'ACTIVE', subscriptionId: there[0]?.id });
    await frozen.stop();
  });

  it('one of which is frozen while what it has sent is under way: it lands late, and the state is the other’s', async () => {
    const frozen = await running();
    await frozen.logged('the state is claimed');
    await kit.send(create('earlier', 'earlier'));
    await kit.settled(['earlier']);
    const earlier = kit.state('earlier');
    // The intent is stored; what is kept back says that the subscription is there.
    await new Promise<void>((reached) => {
      kit.gate.keepAt({ name: 'Produce subscriptions', nth: 2 }, () => {
        frozen.kill('SIGSTOP');
        reached();
      });
      void kit.send(create('overtaken', 'overtaken'));
    });
    const other = await running();
    await kit.settled(['overtaken']);
    const [mine] = await at('overtaken');
    await kit.land();
    await other.logged(FENCED);
    frozen.kill('SIGCONT');
    await kit.send(create('after', 'after'));
    await kit.settled(['after']);
    const records = await compactTopic(kit.direct, kit.stateTopic);
    const left = (ref: string) => records.find(({ key }) => key === ref)?.record;
    expect(left('overtaken')).toMatchObject({ state: 'ACTIVE', subscriptionId: mine?.id });
    expect(left('earlier')).toMatchObject({ subscriptionId: earlier?.subscriptionId });
    expect(kit.state('overtaken')).toMatchObject({ subscriptionId: mine?.id });
    expect(await at('overtaken')).toHaveLength(1);
    await Promise.all([frozen, other].map((control) => control.stop()));
  });

  it('whose broker hangs for longer than a session: none works meanwhile, and one does as soon as it answers', async () => {
    const controls = await Promise.all([running(), running()]);
    const working = async () => {
      const texts = await Promise.all(controls.map((control) => control.metrics()));
      return texts.filter((text) => /^hookline_control_working 1$/m.test(text)).length;
    };
    await until('one works', async () => (await working()) === 1);
    await kit.send(create('before-it-hangs', 'before-it-hangs'));
    await kit.settled(['before-it-hangs']);
    kit.signalBroker('SIGSTOP');
    await until('none works', async () => (await working()) === 0, 20_000);
    kit.signalBroker('SIGCONT');
    await until('one works again', async () => (await working()) === 1, 60_000);
    await kit.send(create('after-it-hung', 'after-it-hung'));
    await kit.settled(['after-it-hung']);
    expect(kit.results('after-it-hung')).toMatchObject([{ status: 'SUCCEEDED' }]);
    await Promise.all(controls.map((control) => control.stop()));
  });

  it('one of which joins while a call takes 40 s: the command is carried out once', async () => {
    const first = await running();
    await kit.sandbox.fail({ operation: 'create', kind: 'delay', ms: 40_000, times: 1 });
    await kit.send({
      commandId: 'slow',
      type: 'subscription.create',
      ref: 'slow',
      events: ['payment-status'],
    });
    await until('the call is under way', async () =>
      (await kit.sandbox.call('GET', '/_sandbox/faults')).json.some(({ hits }: { hits: number }) => hits > 0),
    );
    const second = await running();
    // Others go on meanwhile.
    const others = Array.from({ length: 20 }, (_, n) => `beside-${n}`);
    for (const ref of others)
      await kit.send({ commandId: ref, type: 'subscription.create', ref, events: ['payment-status'] });
    await until(
      'the others have their results',
      () => others.every((id) => kit.results(id).length > 0),
      30_000,
    );
    expect(kit.results('slow')).toEqual([]);
    await kit.settled(['slow'], 90_000);
    expect(await at('slow')).toHaveLength(1);
    expect(kit.results('slow')).toMatchObject([{ status: 'SUCCEEDED', attempts: 2 }]);
    await Promise.all([first, second].map((control) => control.stop()));
  });
});
