import type { Socket } from 'node:net';
import { HooklineError } from '../../core/errors.ts';
import { SignatureCheck } from '../../crypto/signature.ts';
import type { LiveKeyring } from '../../subscriptions/keyring.ts';
import type { BodyMemory } from './body-memory.ts';
import type { TakenBody } from './take-body.ts';

/** How long a delivery waits for the key of a subscription that is being created. */
const KEY_WAIT_MS = 5_000;

type EarlyBody = TakenBody & { readonly socket: Socket; readonly header: string | undefined };
type AwaitKeyDeps = { readonly keyring: LiveKeyring; readonly memory: BodyMemory };

/**
 * The check of a delivery whose body began to arrive while its subscription was being created: at once by a key of a
 * subscription that the ref had before, else by the new one's, which may have come while the body did.
 * @throws HooklineError KEY_PENDING, NO_ROOM
 */
export async function checkWithAwaitedKey(
  ref: string,
  early: EarlyBody,
  deps: AwaitKeyDeps,
): Promise<SignatureCheck> {
  const { keyring } = deps;
  const { body } = early;
  if (!early.check.finish(early.header, body)) {
    await awaitKey(ref, early, deps);
    if (keyring.isPending(ref)) throw new HooklineError('KEY_PENDING');
  }
  const check = SignatureCheck.withEach(keyring.signingKeysOf(ref));
  for (let at = 0; at < body.length; at += STEP_BYTES) {
    if (at > 0) await new Promise(setImmediate);
    check.update(body.subarray(at, at + STEP_BYTES));
  }
  return check;
}

/** Its sender has proved nothing yet: meanwhile the body is charged, and gives way like one that arrives slowly. */
async function awaitKey(
  ref: string,
  { open, body, socket, leave }: EarlyBody,
  { memory, keyring }: AwaitKeyDeps,
): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  open.isWhole = true;
  open.resume(memory.now());
  if (open.charged + open.large === 0 && !memory.charge(open, body.length))
    throw new HooklineError('NO_ROOM');
  open.end = (error) => {
    if (open.large === 0) leave();
    reject(error);
  };
  memory.open.add(socket, open);
  try {
    await Promise.race([keyring.whilePending(ref, KEY_WAIT_MS), promise]);
  } finally {
    memory.open.remove(socket, open);
  }
}

/** A large body is hashed once more in steps, so that other requests are served between them. */
const STEP_BYTES = 1024 * 1024;
