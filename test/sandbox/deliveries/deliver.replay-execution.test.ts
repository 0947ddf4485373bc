import { describe, expect, it } from 'vitest';
import { until } from '../../support/until.ts';
import { opensslHmac, splitDefault, webCryptoOpen } from '../support/judges.ts';
import { openReceiver } from '../support/open-receiver.ts';
import { ENCRYPTION_KEY, openSandbox } from '../support/open-sandbox.ts';

type Sandbox = Awaited<ReturnType<typeof openSandbox>>;

const replay = async (sandbox: Sandbox, executionId: string) =>
  sandbox.call('POST', '/executions/replay-execution', {
    json: { executionId },
    token: await sandbox.token(),
  });

describe('a replay', () => {
  it('sends the same message as a run of its own, with a bearer token', async () => {
    await using receiver = await openReceiver();
    await using sandbox = await openSandbox();
    const { id, signingSecret } = await sandbox.seed(receiver.url);
    const { json } = await sandbox.trigger({ wait: 'final' });
    const answer = await replay(sandbox, json.executions[0].id);
    expect(answer.status).toBe(202);
    expect(answer.json.executionId).not.toBe(json.executions[0].id);
    const [first, second] = await until('both arrived', () =>
      receiver.received.length === 2 ? receiver.received : null,
    );
    expect(second?.body.equals(first!.body)).toBe(true);
    expect(second?.headers['x-signature-sha256']).toBe(opensslHmac(id + signingSecret, second!.body));
    expect(second?.headers.authorization).toMatch(/^Bearer /);
    const seen = await sandbox.call('GET', `/_sandbox/executions/${answer.json.executionId}`);
    expect(seen.json).toMatchObject({ replayOf: json.executions[0].id, sentBody: first?.body.toString() });
  });

  it('seals the same message anew', async () => {
    await using receiver = await openReceiver();
    await using sandbox = await openSandbox({ replayBearer: false });
    await sandbox.seed(receiver.url);
    const { json } = await sandbox.trigger({ wait: 'final', sealed: true });
    await replay(sandbox, json.executions[0].id);
    await until('both arrived', () => receiver.received.length === 2);
    const [first, second] = receiver.received.map((one) => splitDefault(one.body));
    expect(second?.iv.equals(first!.iv)).toBe(false);
    expect(await webCryptoOpen(second!, ENCRYPTION_KEY)).toBe(json.executions[0].sentBody);
    expect(receiver.received[1]?.headers.authorization).toBeUndefined();
  });

  it('is sound where the former run was tampered with', async () => {
    await using receiver = await openReceiver();
    await using sandbox = await openSandbox();
    const { id, signingSecret } = await sandbox.seed(receiver.url);
    const { json } = await sandbox.trigger({ wait: 'final', tamper: 'body' });
    await replay(sandbox, json.executions[0].id);
    const [first, second] = await until('both arrived', () =>
      receiver.received.length === 2 ? receiver.received : null,
    );
    expect(first?.body.toString()).not.toBe(json.executions[0].sentBody);
    expect(second?.body.toString()).toBe(json.executions[0].sentBody);
    expect(second?.headers['x-signature-sha256']).toBe(opensslHmac(id + signingSecret, second!.body));
  });

  it('is refused where the subscription is gone, or has lost the key it was sealed with', async () => {
    await using receiver = await openReceiver();
    await using sandbox = await openSandbox();
    const seed = await sandbox.seed(receiver.url);
    const { json } = await sandbox.trigger({ wait: 'final', sealed: true });
    await sandbox.seed(receiver.url, { id: seed.id, encryptionKey: null });
    expect((await replay(sandbox, json.executions[0].id)).status).toBe(409);
    await sandbox.call('DELETE', `/_sandbox/subscriptions/${seed.id}`);
    expect((await replay(sandbox, json.executions[0].id)).status).toBe(404);
  });
});
