import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseSealingKeys } from '../../../src/crypto/sealing.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Spool } from '../../../src/spool/spool.ts';
import { verified } from '../../support/delivery-parts.ts';
import { postSigned } from '../../support/sign.ts';
import { Fixture } from '../../support/topics-fixture.ts';
import { Night } from './night.ts';
import { bySection } from './runbook.ts';
import { type SlowKafka, startSlowKafka } from './slow-kafka.ts';
import { newKeys, Traffic, webhook } from './traffic.ts';

const MIB = 1024 ** 2;
const keys = newKeys();

let kafka: SlowKafka;
let fixture: Fixture;
let night: Night;
/** One ingress with a spool, one without: each in a namespace of its own, on the same brokers. */
let spooled: Awaited<ReturnType<Fixture['ingress']>>;
let plain: Awaited<ReturnType<Fixture['ingress']>>;
const traffic: Traffic[] = [];

beforeAll(async () => {
  kafka = await startSlowKafka();
  fixture = await Fixture.make(kafka.stack);
  night = await Night.begin();
  fixture.secrets('ledger-eu', {
    'subscription-id': keys.subscriptionId,
    'signing-secret': keys.signingSecret,
  });
  const spool = { SPOOL_DIR: join(fixture.dir, 'spool'), SPOOL_MAX_BYTES: String(8 * MIB) };
  [spooled, plain] = await Promise.all([fixture.ingress(spool), fixture.ingress()]);
  await night.watch('spooled', 'ingress', spooled.process);
  await night.watch('plain', 'ingress', plain.process);
  for (const { url } of [spooled, plain])
    traffic.push(new Traffic({ url: `${url}/webhooks/ledger-eu`, keys, bytes: 10_000 }));
});

afterAll(async () => {
  for (const one of traffic) one[Symbol.dispose]();
  await fixture?.[Symbol.asyncDispose]();
  await night?.[Symbol.asyncDispose]();
  await kafka?.[Symbol.asyncDispose]();
});

/** Beside the page there is a ticket, whose windows are longer than the drill. */
const pageOf = (namespace: string) => ({ namespace, severity: 'critical' });
const inPlain = { namespace: 'plain', process: 'ingress' };

describe('at night, Kafka', () => {
  it('is slow: answers are, and where there is a spool it takes over', async () => {
    kafka.answerAfter(2_800);
    await night.fires('HooklinePublishSlow', inPlain);
    await night.fires('HooklineAnswersSlow', { namespace: 'plain' });
    bySection('HooklineAnswersSlow', 'if Kafka is slow, see [HooklinePublishSlow]');
    bySection('HooklinePublishSlow', 'the spool takes over before senders give up');
    await night.fires('HooklineSpoolInUse', { namespace: 'spooled' });
    bySection('HooklinePublishSlow', 'move leaders away from the slow broker, or stop it');
    kafka.answerAfter(0);
    await night.resolves('HooklinePublishSlow', inPlain);
    await night.resolves('HooklineAnswersSlow', { namespace: 'plain' });
    await night.resolves('HooklineSpoolInUse', { namespace: 'spooled' });
  });

  it('is unavailable: webhooks are refused, or spooled; when it is back all goes on by itself', async () => {
    await kafka.node.kill('SIGKILL');
    const waves = setInterval(sendMany, 4_000);
    await night.fires('HooklineBrokersDoNotConfirm', inPlain);
    await night.fires('HooklineWebhooksNotStored', { namespace: 'plain' });
    await night.fires('HooklineWebhooksNotAcknowledged', pageOf('plain'));
    bySection('HooklineWebhooksNotAcknowledged', '5xx | [HooklineWebhooksNotStored]');
    await night.fires('HooklineBacklog', { namespace: 'plain' });
    clearInterval(waves);
    await night.fires('HooklineSpoolInUse', { namespace: 'spooled' });
    await night.fires('HooklineSpoolNotDrained', { namespace: 'spooled' });
    await night.fires('HooklineSpoolFilling', { namespace: 'spooled' });
    await night.fires('HooklineEventsNotDelivered', pageOf('spooled'));
    bySection(
      'HooklineEventsNotDelivered',
      'Kafka confirms nothing, or slowly | [HooklineBrokersDoNotConfirm](#hooklinebrokersdonotconfirm), [HooklineSpoolInUse]',
    );
    expect(spooled.process.written()).toContain('the brokers do not confirm');
    const doctor = await night.run('HooklineBrokersDoNotConfirm', 'hookline doctor', fixture.env);
    expect(doctor).toContain(kafka.stack.brokers[0]);

    bySection('HooklineBrokersDoNotConfirm', '**Do**: bring the brokers back.');
    bySection(
      'HooklineSpoolInUse',
      'The spool is drained in order without intervention, and the alert ends.',
    );
    await kafka.node.start();
    for (const alert of ['SpoolInUse', 'SpoolFilling', 'SpoolNotDrained'])
      await night.resolves(`Hookline${alert}`, { namespace: 'spooled' });
    for (const alert of ['BrokersDoNotConfirm', 'WebhooksNotStored', 'Backlog'])
      await night.resolves(`Hookline${alert}`, { namespace: 'plain' });
    await night.resolves('HooklineWebhooksNotAcknowledged', pageOf('plain'));
    await night.resolves('HooklineEventsNotDelivered', pageOf('spooled'));
  });

  it('is well, but a key of the spool is gone: its events are published when the key is back', async () => {
    const old = 'o'.repeat(32);
    const current = 'c'.repeat(32);
    const dir = join(fixture.dir, 'locked');
    const keyFile = join(fixture.dir, 'sealing-key');
    const sealingKeys = parseSealingKeys(Buffer.from(old)) ?? expect.fail('no key');
    const spool = await Spool.open({
      clock: systemClock,
      dir,
      maxBytes: MIB,
      sealingKeys,
      onDeath: () => {},
    });
    await spool.append(verified(webhook(1, 100)));
    await spool.close();
    const env = { SPOOL_DIR: dir, SEALING_KEY_FILE: keyFile };
    writeFileSync(keyFile, current);
    const without = await fixture.ingress(env);
    await night.watch('locked', 'ingress', without.process);
    await night.fires('HooklineSpoolKeyMissing', { namespace: 'locked' });

    bySection(
      'HooklineSpoolKeyMissing',
      'add the old key to `SEALING_KEY_FILE` on a line after the current one',
    );
    await without.process.stop();
    writeFileSync(keyFile, `${current}\n${old}`);
    const again = await fixture.ingress(env);
    await night.watch('locked', 'ingress', again.process);
    await night.resolves('HooklineSpoolKeyMissing', { namespace: 'locked' });
  });

  it('has everything that was acknowledged that night', async () => {
    for (const one of traffic) one[Symbol.dispose]();
    const stored = new Set((await fixture.read('payment-status')).map(({ record }) => record?.source));
    for (const { acked } of traffic) {
      expect(acked.length).toBeGreaterThan(100);
      expect(acked.filter((body) => !stored.has(body))).toEqual([]);
    }
  });
});

/** What piles up before Kafka: bodies above 1 MiB wait elsewhere, in memory that is reckoned. None of it is stored. */
function sendMany(): void {
  for (let n = 0; n < 40; n++)
    void postSigned(`${plain.url}/webhooks/ledger-eu`, keys, webhook(n, 800_000)).catch(() => {});
}
