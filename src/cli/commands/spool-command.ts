import type { Command } from 'commander';
import { envReader } from '../../config/env.ts';
import { spoolSettings, subscriptionSettings } from '../../config/shared-settings.ts';
import { HooklineError } from '../../core/errors.ts';
import { readSealingKeys } from '../../crypto/sealing.ts';
import { drainSpool } from '../../delivery/store/drain-spool.ts';
import { systemClock } from '../../runtime/clock.ts';
import { hasSpool, Spool } from '../../spool/spool.ts';
import { connectKafka, loadConfig } from '../shell/connections.ts';
import { openRedelivery, REDELIVERY_GROUPS } from '../shell/open-redelivery.ts';
import { printFields } from '../shell/print-rows.ts';
import { type ExitCode, type Run, type Shell, UsageError } from '../shell/shell.ts';

type Options = { dir?: string; json?: boolean };

export function addSpoolCommand(program: Command, shell: Shell, run: Run): void {
  const spool = program
    .command('spool')
    .description('what an ingress that is gone left in its spool, on a volume that is mounted here');
  const dirHelp = 'folder of the spool; by default SPOOL_DIR';
  spool
    .command('status')
    .description('shows how much is in it')
    .option('--dir <folder>', dirHelp)
    .option('--json', 'print JSON')
    .action(
      run((options: Options) => withSpool(shell, options, (one, dir) => status(shell, one, dir, options))),
    );
  spool
    .command('drain')
    .description('sends what is in it to Kafka, in order; exit code 1 unless it is empty then')
    .option('--dir <folder>', dirHelp)
    .option('--json', 'print JSON')
    .action(
      run((options: Options) => withSpool(shell, options, (one) => drain(shell, one, options.json === true))),
    );
}

async function status(shell: Shell, spool: Spool, dir: string, { json }: Options): Promise<ExitCode> {
  const { rows: deliveries, bytes, oldestAt, keyMissing } = spool.state;
  const oldestReceivedAt = oldestAt === null ? null : new Date(oldestAt).toISOString();
  const fields = { dir, deliveries, bytes, oldestReceivedAt, keyMissing };
  if (json) shell.print(JSON.stringify(fields, null, 2));
  else printFields(shell, fields);
  return 0;
}

/** Owns the spool while it works: an ingress that runs keeps it to itself, and is asked by its metrics. */
async function withSpool(
  shell: Shell,
  options: Options,
  work: (spool: Spool, dir: string) => Promise<ExitCode>,
): Promise<ExitCode> {
  const reader = envReader(shell.source);
  const { dir: named, sealingKeyFile } = reader.done(
    reader.read({ ...spoolSettings, sealingKeyFile: subscriptionSettings.sealingKeyFile }),
  );
  const dir = options.dir ?? named;
  if (dir === undefined) throw new UsageError('Neither --dir nor SPOOL_DIR names the folder of a spool.');
  if (!hasSpool(dir))
    throw new UsageError(`${dir} holds no spool: mount the volume there, or name its folder.`);
  const sealingKeys = readSealingKeys(sealingKeyFile);
  const maxBytes = Number.MAX_SAFE_INTEGER;
  const spool = await Spool.open({ clock: systemClock, dir, maxBytes, sealingKeys, onDeath: () => {} });
  try {
    return await work(spool, dir);
  } finally {
    await spool.close();
  }
}

const PROGRESS_EVERY_MS = 1_000;
const KEY_REMEDY = 'add the key to SEALING_KEY_FILE, behind the current one, and drain again';

/** `hookline spool drain`: what ingress would have done with it, as ingress would have done it. */
export async function drain(shell: Shell, spool: Spool, json: boolean): Promise<ExitCode> {
  const config = loadConfig(shell, ...REDELIVERY_GROUPS);
  const before = spool.state.rows;
  // Without a deadline: nothing that comes later may overtake what the brokers don't take at once.
  const redelivery = await openRedelivery(shell, config, connectKafka(config), Number.POSITIVE_INFINITY);
  const progress = setInterval(() => {
    shell.note(`${before - spool.state.rows} of ${before} deliveries drained`);
  }, PROGRESS_EVERY_MS);
  // What waits for the brokers is given up; it stays in the spool.
  const stop = () => void redelivery.stop();
  shell.signal.addEventListener('abort', stop);
  let said = '';
  try {
    await drainSpool({
      ...{ spool, clock: systemClock },
      delivery: redelivery.delivery,
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
    await redelivery.stop();
  }
  const { rows: left, keyMissing } = spool.state;
  if (keyMissing > 0)
    shell.note(new HooklineError('SPOOL_KEY_MISSING', `${keyMissing} rows`, { remedy: KEY_REMEDY }).message);
  const drained = before - left;
  if (json) shell.print(JSON.stringify({ drained, left }, null, 2));
  else
    shell.print(left === 0 ? `${drained} deliveries drained, none left` : `${drained} drained, ${left} left`);
  return left === 0 ? 0 : 1;
}
