import { openReceiver } from './open-receiver.ts';
import { openSandbox } from './open-sandbox.ts';

/** A sandbox and a receiver with one subscription between them. */
export async function stage(options: { sandbox?: Parameters<typeof openSandbox>[0]; seed?: object } = {}) {
  const receiver = await openReceiver();
  const sandbox = await openSandbox(options.sandbox);
  const { id, signingSecret } = await sandbox.seed(receiver.url, options.seed);
  return {
    receiver,
    sandbox,
    id,
    key: `${id}${signingSecret}`,
    received: receiver.received,
    async [Symbol.asyncDispose]() {
      await sandbox.stop();
      await receiver[Symbol.asyncDispose]();
    },
  };
}
