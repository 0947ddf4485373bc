import { HooklineError } from '../../core/errors.ts';
import { drainSpool } from '../../delivery/store/drain-spool.ts';
import type { Spool } from '../../spool/spool.ts';
import { connectKafka, loadDeliveryConfig } from '../shell/connections.ts';
import { openDeliverySide } from '../shell/open-delivery.ts';
import type { ExitCode, Shell } from '../shell/shell.ts';

const PROGRESS_EVERY_MS = 1_000;
const KEY_REMEDY = 'add the key to SEALING_KEY_FILE, behind the current one, and drain again';

/** `hookline spool drain`: what ingress would have done with it, as ingress would have done it. */
export async function drain(shell: Shell, spool: Spool, json: boolean): Promise<ExitCode> {
  const config = loadDeliveryConfig(shell);
  const before = spool.state.rows;
  // Without a deadline: nothing that comes later may overtake what the brokers don't take at once.
  const parts = await openDeliverySide(shell, config, connectKafka(config), Number.POSITIVE_INFINITY);
  const progress = setInterval(() => {
    shell.note(`${before - spool.state.rows} of ${before} deliveries drained`);
  }, PROGRESS_EVERY_MS);
  // What waits for the brokers is given up; it stays in the spool.
  const stop = () => void parts.stop();
  shell.signal.addEventListener('abort', stop);
  let said = '';
  try {
    await drainSpool({
      spool,
      delivery: parts.delivery,
      stopping: shell.signal,
      observer: {
        drainFailed(error) {
          const { message } = error as Error;
          if (message !== said) shell.note(`Tried again: ${message}`);
          said = message;
        },
      },
      onNearlyEmpty() {},
    });
  } catch (error) {
    if (!shell.signal.aborted) throw error;
  } finally {
    clearInterval(progress);
    shell.signal.removeEventListener('abort', stop);
    await parts.stop();
  }
  const { rows: left, keyMissing } = spool.state;
  if (keyMissing > 0)
    shell.note(new HooklineError('SPOOL_KEY_MISSING', `${keyMissing} rows`, { mend: KEY_REMEDY }).message);
  const drained = before - left;
  if (json) shell.print(JSON.stringify({ drained, left }, null, 2));
  else
    shell.print(left === 0 ? `${drained} deliveries drained, none left` : `${drained} drained, ${left} left`);
  return left === 0 ? 0 : 1;
}
