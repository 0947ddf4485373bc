import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { cli, cliJson } from '../support/cli.ts';
import { ENCRYPTION_KEY, ReceiverFixture } from '../support/receiver-fixture.ts';
import { sealBody } from '../support/seal.ts';
import { postSigned } from '../support/sign.ts';
import { setTopicBytes } from '../support/topic-config.ts';

let receiver: ReceiverFixture;

beforeAll(async () => {
  receiver = await ReceiverFixture.make(inject('stack'));
});

afterAll(() => receiver[Symbol.asyncDispose]());

describe('a sealed body of 50 MB whose event no broker reads', () => {
  it('is answered 200 and stands in the dead-letter topic, in parts that fit, exact to the byte', async () => {
    const { fixture, ingress } = receiver;
    await setTopicBytes(fixture.env, fixture.topic('dead-letter'), 20_000_000);
    // The text comes twice in the record, typed and as source: 104 MB. A broker cuts the connection at 100 MiB.
    const GrpHdr = { MsgId: 'x'.repeat(52_400_000) };
    const payload = { status: 'ACCC', pacs002: { FIToFIPmtStsRpt: { GrpHdr } } };
    const body = sealBody(
      ENCRYPTION_KEY,
      JSON.stringify({ type: 'payment-status', entityId: 'e-1', payload }),
    );
    const answer = await postSigned(`${ingress.url}/webhooks/ledger-eu`, receiver, body, {
      'content-type': 'application/octet-stream',
    });
    expect([answer.status, JSON.parse(answer.text).stored]).toEqual([200, 'kafka']);
    const deadLetters = await cliJson<Record<string, unknown>[]>(fixture.env, 'dlq', 'list');
    const deadLetter = {
      code: 'RECORD_TOO_LARGE',
      stage: 'PRODUCE',
      parts: 3,
      missing: [],
      bytes: body.length,
    };
    expect(deadLetters).toEqual([
      expect.objectContaining({ ...deadLetter, eventId: JSON.parse(answer.text).eventId }),
    ]);
    const shown = await cli(fixture.env, 'dlq', 'show', String(deadLetters[0]?.at), '--body');
    expect(shown.bytes.equals(body)).toBe(true);
    const rehearsal = await cli(fixture.env, 'dlq', 'redrive', '--dry-run');
    expect([rehearsal.exitCode, rehearsal.out]).toEqual([
      1,
      expect.stringMatching(/would be dead-lettered again +RECORD_TOO_LARGE/),
    ]);
    expect(await (await fetch(`${await ingress.process.adminUrl()}/readyz`)).status).toBe(200);
  });
});
