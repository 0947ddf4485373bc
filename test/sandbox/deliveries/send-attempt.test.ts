import { expect, it } from 'vitest';
import { openReceiver } from '../support/open-receiver.ts';
import { openSandbox } from '../support/open-sandbox.ts';

it('keeps the first 64 KiB of a long answer', async () => {
  await using receiver = await openReceiver({
    answer: () => (response) => response.writeHead(200).end('y'.repeat(5_000_000)),
  });
  await using sandbox = await openSandbox();
  await sandbox.seed(receiver.url);
  const { json } = await sandbox.trigger({ count: 3, wait: 'final' });
  expect(json.delivered).toBe(3);
  expect(json.executions[0].responseBody).toBe('y'.repeat(64 * 1024));
});

it('does not wait for the end of an answer that has none', async () => {
  await using receiver = await openReceiver({
    answer: () => (response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write('z'.repeat(10_000)));
      };
      response.on('drain', more);
      more();
    },
  });
  await using sandbox = await openSandbox({ deliveryTimeoutMs: 600_000 });
  await sandbox.seed(receiver.url);
  const { json } = await sandbox.trigger({ wait: 'final' });
  expect(json.executions[0]).toMatchObject({ state: 'delivered', status: 200 });
});

it('takes the status for the answer, even where the rest of it breaks off', async () => {
  await using receiver = await openReceiver({
    answer: () => (response) => {
      response.writeHead(200, { 'content-length': 100 }).write('{"event');
      setImmediate(() => response.destroy());
    },
  });
  await using sandbox = await openSandbox();
  await sandbox.seed(receiver.url);
  const { json } = await sandbox.trigger({ wait: 'final' });
  expect(json.executions[0]).toMatchObject({ state: 'delivered', status: 200 });
});

it('does not follow redirects', async () => {
  await using elsewhere = await openReceiver();
  await using receiver = await openReceiver({
    answer: () => (response) => response.writeHead(307, { location: elsewhere.url }).end(),
  });
  await using sandbox = await openSandbox();
  await sandbox.seed(receiver.url);
  const { json } = await sandbox.trigger({ wait: 'final', retry: false });
  expect(json.executions[0]).toMatchObject({ state: 'failed', status: 307 });
  expect(elsewhere.received).toEqual([]);
});
