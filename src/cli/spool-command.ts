import type { Command } from 'commander';
import { envReader } from '../config/env.ts';
import { spoolSettings, subscriptionSettings } from '../config/shared-settings.ts';
import { HooklineError, UsageError } from '../core/errors.ts';
import { isoOf } from '../core/instant.ts';
import { readSealingKeys } from '../crypto/sealing.ts';
import type { Redelivery } from '../dead-letters/open-redelivery.ts';
import type { DrainObserver } from '../delivery/store/drain-row.ts';
import { drainSpool } from '../delivery/store/drain-spool.ts';
import { systemClock } from '../runtime/clock.ts';
import { retry, STARTUP_BACKOFF } from '../runtime/retry.ts';
import { hasSpool, Spool } from '../spool/spool.ts';
import { damageText, HAD_NO_SEAL } from '../spool/spool-row.ts';
import {
  type Config,
  connectKafka,
  connectRedelivery,
  loadConfig,
  REDELIVERY_GROUPS,
} from './shell/connections.ts';
import { printFields } from './shell/print-rows.ts';
import type { ExitCode, Run, Shell } from './shell/shell.ts';

type Options = { dir?: string; json?: boolean; unattended?: boolean };

export function addSpoolCommand(program: Command, shell: Shell, run: Run): void {
  const spool = program
    .command('spool')
    .description('the spool of an ingress that no longer runs, on a volume that is mounted here');
  const dirHelp = 'directory of the spool (default: SPOOL_DIR)';
  spool
    .command('status')
    .description('shows how much it contains')
    .option('--dir <folder>', dirHelp)
    .option('--json', 'print JSON')
    .action(
      run((options: Options) => withSpool(shell, options, (one, dir) => status(shell, one, dir, options))),
    );
  spool
    .command('drain')
    .description('publishes its events in order; exit code 1 unless it is empty afterwards')
    .option('--dir <folder>', dirHelp)
    .option(
      '--unattended',
      'for a job: waits until Kafka and the schema registry answer; a directory without a spool is drained already',
    )
    .option('--json', 'print JSON')
    .action(run((options: Options) => withSpool(shell, options, (one) => drain(shell, one, options))));
}

async function status(shell: Shell, spool: Spool, dir: string, { json }: Options): Promise<ExitCode> {
  const { rows: deliveries, bytes, oldestAt, keyMissing } = spool.state;
  const oldestReceivedAt = oldestAt === null ? null : isoOf(oldestAt);
  const fields = { dir, deliveries, bytes, oldestReceivedAt, keyMissing };
  if (json) shell.print(JSON.stringify(fields, null, 2));
  else printFields(shell, fields);
  return 0;
}

/** Opens the spool, which has one owner: of a running ingress, use its metrics instead. */
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
  if (dir === undefined) throw new UsageError('give the directory of the spool with --dir or SPOOL_DIR.');
  if (!hasSpool(dir)) {
    if (!options.unattended)
      throw new UsageError(`${dir} contains no spool: mount the volume there, or give another directory.`);
    shell.note(`${dir} contains no spool: there is nothing to drain`);
    return 0;
  }
  const sealingKeys = readSealingKeys(sealingKeyFile);
  const maxBytes = Number.MAX_SAFE_INTEGER;
  const { promise: died, reject: onDeath } = Promise.withResolvers<never>();
  died.catch(() => {});
  const spool = await Spool.open({ clock: systemClock, dir, maxBytes, sealingKeys, onDeath });
  const { unproven, isDamaged } = spool.state;
  if (isDamaged) shell.note(damageText(spool.state));
  if (unproven > 0) shell.note(`${unproven} ${HAD_NO_SEAL}`);
  try {
    return await Promise.race([work(spool, dir), died]);
  } finally {
    await spool.close();
  }
}

const PROGRESS_EVERY_MS = 1_000;
const KEY_REMEDY = 'add the key to SEALING_KEY_FILE after the current one, and drain again';

/** Says why the drain does not go on: each reason when it begins, not at each try. */
export function noteReasons({
  note,
}: Pick<Shell, 'note'>): Required<Pick<DrainObserver, 'drainFailed' | 'notTaken'>> {
  const noteChange = (introduction: string) => {
    let last: string | undefined;
    return (error: unknown) => {
      const { code, message, remedy } = error as Partial<HooklineError> & Error;
      // A message may name the object, another one at each try: what to do about it stays the same.
      const reason = remedy === undefined ? message : `${code} ${remedy}`;
      if (reason !== last) note(`${introduction}: ${message}`);
      last = reason;
    };
  };
  return { drainFailed: noteChange('Trying again'), notTaken: noteChange('Waiting for the object store') };
}

/** `hookline spool drain`: publishes the events as ingress would have done. */
async function drain(
  shell: Shell,
  spool: Spool,
  { json = false, unattended = false }: Pick<Options, 'json' | 'unattended'>,
): Promise<ExitCode> {
  const config = loadConfig(shell, ...REDELIVERY_GROUPS);
  const before = spool.state.rows;
  // A job looks into many a spool that is empty, also while Kafka is unavailable.
  if (unattended && before === 0) return report(shell, { json, drained: 0, left: 0 });
  const redelivery = await (unattended ? openPatiently : open)(shell, config);
  const progress = setInterval(() => {
    shell.note(`${before - spool.state.rows} of ${before} deliveries drained`);
  }, PROGRESS_EVERY_MS);
  // Events that wait for the brokers stay in the spool.
  const stop = () => void redelivery.stop();
  shell.signal.addEventListener('abort', stop);
  const observer = noteReasons(shell);
  try {
    await drainSpool({
      spool,
      clock: systemClock,
      delivery: redelivery.delivery,
      send: redelivery.send,
      stopping: shell.signal,
      observer,
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
  return report(shell, { json, drained: before - left, left });
}

function report(
  { print }: Pick<Shell, 'print'>,
  { json, drained, left }: { readonly json: boolean; readonly drained: number; readonly left: number },
): ExitCode {
  if (json) print(JSON.stringify({ drained, left }, null, 2));
  else
    print(
      left === 0 ? `${drained} deliveries drained, none left` : `${drained} deliveries drained, ${left} left`,
    );
  return left === 0 ? 0 : 1;
}

type DrainConfig = Config<(typeof REDELIVERY_GROUPS)[number]>;

/** No deadline: later events must not overtake one that the brokers do not take at once. No commands are in a spool. */
const open = (shell: Shell, config: DrainConfig): Promise<Redelivery> =>
  connectRedelivery(shell, config, connectKafka(config), {
    publishDeadlineMs: Number.POSITIVE_INFINITY,
    commandTopics: [],
  });

/** Tries again until it succeeds: what is missing comes back, or somebody corrects it. */
function openPatiently(shell: Shell, config: DrainConfig): Promise<Redelivery> {
  const { drainFailed } = noteReasons(shell);
  return retry(() => open(shell, config), {
    backoff: STARTUP_BACKOFF,
    signal: shell.signal,
    clock: systemClock,
    onFailure: drainFailed,
  });
}
