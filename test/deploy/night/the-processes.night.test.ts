import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { setTopicConfig } from '../../support/topic-config.ts';
import { Fixture } from '../../support/topics-fixture.ts';
import { until } from '../../support/until.ts';
import { Night } from './night.ts';
import { bySection } from './runbook.ts';

/** A namespace in which nobody has made topics or schemas yet. */
let fixture: Fixture;
let night: Night;
const namespace = 'fresh';

beforeAll(async () => {
  fixture = new Fixture(inject('stack'));
  night = await Night.begin();
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await night?.[Symbol.asyncDispose]();
});

describe('at night, processes', () => {
  it('that wait for topics and schemas are not ready, say what for, and are fixed by making them', async () => {
    const ingress = fixture.start('src/ingress/main.ts');
    const urls = { provider: 'http://127.0.0.1:9', publicUrl: 'http://127.0.0.1:9' };
    const control = fixture.start('src/control/main.ts', fixture.controlEnv(urls));
    await night.watch(namespace, 'ingress', ingress);
    await night.watch(namespace, 'control', control);
    await night.fires('HooklineWebhooksNotReady', { namespace });
    await night.fires('HooklineControlNotReady', { namespace });

    bySection('HooklineWebhooksNotReady', "each pod's `/readyz`, which names what it waits for");
    const readiness = await (await fetch(`${await ingress.adminUrl()}/readyz`)).text();
    expect(readiness).toContain(fixture.topic('payment-status'));
    await night.run('HooklineWebhooksNotReady', 'hookline topics apply', fixture.env);
    await night.run('HooklineWebhooksNotReady', 'hookline schemas push', fixture.env);

    await night.resolves('HooklineWebhooksNotReady', { namespace });
    bySection('HooklineControlNotReady', '**Do** what it says, as under [HooklineWebhooksNotReady]');
    await night.resolves('HooklineControlNotReady', { namespace });
  });

  it('are not ready while a topic can lose records, and are when it is repaired', async () => {
    const { process: ingress } = await fixture.ingress();
    await night.watch(namespace, 'ingress', ingress);
    const topic = fixture.topic('payment-status');
    await setTopicConfig(fixture.env, topic, { 'unclean.leader.election.enable': 'true' });
    await night.fires('HooklineTopicsUnsafe', { namespace, process: 'ingress', topic });
    bySection('HooklineTopicsUnsafe', 'both say `TOPICS_UNSAFE` with the topic');
    const readiness = await (await fetch(`${await ingress.adminUrl()}/readyz`)).text();
    expect(readiness).toMatch(/TOPICS_UNSAFE.*payment-status: unclean.leader.election.enable is true/);
    await night.run('HooklineTopicsUnsafe', 'hookline topics apply', fixture.env);
    await night.resolves('HooklineTopicsUnsafe', { namespace, process: 'ingress', topic });
    await ingress.stop();
  });

  it('that get too little processor are held up, and go on when they get it', async () => {
    const { process: ingress } = await fixture.ingress();
    await night.watch(namespace, 'ingress', ingress);
    let isThrottled = true;
    // As the kernel does it to a container above its limit: stopped for most of each second.
    const throttling = (async () => {
      while (isThrottled) {
        ingress.kill('SIGSTOP');
        await sleep(700);
        ingress.kill('SIGCONT');
        await sleep(200);
      }
    })();
    await night.fires('HooklineLoopBlocked', { namespace, process: 'ingress' });
    bySection('HooklineLoopBlocked', 'remove the CPU limit');
    isThrottled = false;
    await throttling;
    await night.resolves('HooklineLoopBlocked', { namespace, process: 'ingress' });
  });

  it('that do not start for a faulty setting end with 78, and their log lists every fault with its remedy', async () => {
    bySection('HooklineWebhooksNotReady', 'exit code 78 is a faulty configuration');
    const faulty = fixture.start('src/ingress/main.ts', { SPOOL_MAX_BYTES: '1', ALLOWED_SOURCES: 'here' });
    expect(await faulty.end()).toBe(78);
    await until('it is told', () => faulty.written().includes('SPOOL_MAX_BYTES'));
    expect(faulty.written()).toContain('ALLOWED_SOURCES');
  });
});
