import { randomUUID } from 'node:crypto';
import { renameSync, rmSync, symlinkSync, truncateSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasCode } from '../../src/core/errors.ts';
import { newEncryptionKey } from '../../src/crypto/keys.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { type DirSecrets, type SecretsWatch, watchSecrets } from '../../src/subscriptions/secrets-dir.ts';
import { Fixture } from '../support/topics-fixture.ts';
import { until } from '../support/until.ts';

/** A folder that is watched, and all that is told of it, in order. */
class Watched implements AsyncDisposable {
  readonly fixture = new Fixture({ brokers: [], registryUrl: '' });
  readonly dir = join(this.fixture.dir, 'secrets');
  readonly told: { ref: string; secrets: DirSecrets | null }[] = [];
  readonly faults: { ref: string; error: Error; isKept: boolean }[] = [];
  #watch: SecretsWatch | undefined;

  /** Looks by itself so seldom that only the looks that a test asks for count, unless an interval is given. */
  async start(intervalMs = 3_600_000): Promise<void> {
    this.#watch = await watchSecrets({
      clock: systemClock,
      dir: this.dir,
      intervalMs,
      onChange: (ref, secrets) => this.told.push({ ref, secrets }),
      onFault: (ref, error, isKept) => this.faults.push({ ref, error, isKept }),
    });
  }

  async look(times: number): Promise<void> {
    for (let n = 0; n < times; n++) await this.#watch?.check();
  }

  async stop(): Promise<void> {
    await this.#watch?.stop();
  }

  /** The first signing secret of each change that was told. */
  secretsTold = () => this.told.map(({ secrets }) => secrets?.signingSecrets[0]);

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.fixture[Symbol.asyncDispose]();
  }
}

/** One that has read the folder of ref `a` with one secret. */
async function watchedOne() {
  const watched = new Watched();
  const secret = randomUUID();
  watched.fixture.secrets('a', { 'signing-secret': secret });
  await watched.start();
  return { watched, secret, [Symbol.asyncDispose]: () => watched[Symbol.asyncDispose]() };
}

describe('the watch of SECRETS_DIR', () => {
  it('tells at once what is there when it begins', async () => {
    await using the = await watchedOne();
    const secrets = { subscriptionIds: [], signingSecrets: [the.secret], encryptionKeys: [] };
    expect(the.watched.told).toEqual([{ ref: 'a', secrets }]);
  });

  it('looks by itself, and tells of what is new, changed and gone, each once', async () => {
    await using watched = new Watched();
    await watched.start(5);
    const first = randomUUID();
    const second = randomUUID();
    watched.fixture.secrets('a', { 'signing-secret': first });
    await until('the new one is told', () => watched.told.length === 1);
    watched.fixture.secrets('a', { 'signing-secret': second });
    await until('the change is told', () => watched.secretsTold().at(-1) === second);
    watched.fixture.forget('a');
    await until('the end is told', () => watched.told.at(-1)?.secrets === null);
    expect(watched.secretsTold()).toEqual([first, second, undefined]);
    expect(watched.faults).toEqual([]);
  });

  it('sees the swap of a link, by which Kubernetes renews a Secret', async () => {
    await using watched = new Watched();
    const first = randomUUID();
    const second = randomUUID();
    watched.fixture.secrets('..one', { 'signing-secret': first });
    watched.fixture.secrets('..two', { 'signing-secret': second });
    symlinkSync('..one', join(watched.dir, 'a'));
    await watched.start();
    symlinkSync('..two', join(watched.dir, '..next'));
    renameSync(join(watched.dir, '..next'), join(watched.dir, 'a'));
    await watched.look(2);
    expect(watched.secretsTold()).toEqual([first, second]);
  });

  it('tells at the very next look of what only adds keys: a new ref, a second secret, a further file', async () => {
    await using the = await watchedOne();
    const { watched, secret: old } = the;
    const next = randomUUID();
    watched.fixture.secrets('b', { 'signing-secret': next });
    watched.fixture.secrets('a', { 'signing-secret': `${next}\n${old}` });
    await watched.look(1);
    watched.fixture.secrets('a', { 'encryption-key': 'k'.repeat(32) });
    await watched.look(1);
    expect(watched.told.slice(1).map(({ ref, secrets }) => [ref, secrets?.signingSecrets])).toEqual([
      ['a', [next, old]],
      ['b', [next]],
      ['a', [next, old]],
    ]);
    watched.fixture.secrets('a', { 'signing-secret': next });
    await watched.look(1);
    expect(watched.told).toHaveLength(4);
    await watched.look(1);
    expect(watched.told.at(-1)?.secrets?.signingSecrets).toEqual([next]);
  });

  it('tells nothing of a folder without a file, until one comes', async () => {
    await using watched = new Watched();
    await watched.start();
    watched.fixture.secrets('a', {});
    await watched.look(3);
    expect([watched.told, watched.faults]).toEqual([[], []]);
  });

  it('does not take a file that is being rewritten for an empty one, nor half of a folder for the whole', async () => {
    await using the = await watchedOne();
    const { watched, secret: first } = the;
    const second = randomUUID();
    truncateSync(join(watched.dir, 'a', 'signing-secret'));
    await watched.look(1);
    watched.fixture.secrets('a', { 'signing-secret': second });
    await watched.look(1);
    watched.fixture.secrets('a', { 'encryption-key': 'k'.repeat(32) });
    await watched.look(1);
    expect(watched.secretsTold()).toEqual([first]);
    await watched.look(1);
    expect(watched.told.slice(1)).toEqual([
      {
        ref: 'a',
        secrets: { subscriptionIds: [], signingSecrets: [second], encryptionKeys: ['k'.repeat(32)] },
      },
    ]);
  });

  it('does not take a folder that is being replaced for one that is gone', async () => {
    await using the = await watchedOne();
    const second = randomUUID();
    the.watched.fixture.forget('a');
    await the.watched.look(1);
    the.watched.fixture.secrets('a', { 'signing-secret': second });
    await the.watched.look(2);
    expect(the.watched.secretsTold()).toEqual([the.secret, second]);
  });

  it('keeps what it read while a file holds no key, names it once, and reads it when it is fixed', async () => {
    await using the = await watchedOne();
    const second = randomUUID();
    the.watched.fixture.secrets('a', { 'signing-secret': 'half-written' });
    await the.watched.look(5);
    expect(the.watched.faults.map(({ ref }) => ref)).toEqual(['a']);
    expect(hasCode(the.watched.faults[0]?.error, 'KEYS_INVALID')).toBe(true);
    expect(the.watched.faults[0]?.isKept).toBe(true);
    expect(the.watched.secretsTold()).toEqual([the.secret]);
    the.watched.fixture.secrets('a', { 'signing-secret': second });
    await the.watched.look(2);
    expect(the.watched.secretsTold()).toEqual([the.secret, second]);
    the.watched.fixture.secrets('a', { 'signing-secret': 'half-written' });
    await the.watched.look(2);
    expect(the.watched.faults).toHaveLength(2);
  });

  it('says that it has nothing of a ref whose file holds no key from the beginning', async () => {
    await using watched = new Watched();
    watched.fixture.secrets('a', { 'signing-secret': `${randomUUID()}\nhalf-written` });
    watched.fixture.secrets('b', { 'signing-secret': randomUUID() });
    await watched.start();
    expect(watched.faults).toMatchObject([{ ref: 'a', isKept: false }]);
    expect(watched.told.map(({ ref }) => ref)).toEqual(['b']);
  });

  it('keeps what it read while a file stays empty, names it once, and drops its keys when it is removed', async () => {
    await using the = await watchedOne();
    const { watched, secret } = the;
    const path = join(watched.dir, 'a', 'signing-secret');
    truncateSync(path);
    await watched.look(5);
    expect(new Set(watched.secretsTold())).toEqual(new Set([secret]));
    expect(watched.faults.map(({ error }) => error.message)).toEqual([
      expect.stringContaining(`${path}: empty now`),
    ]);
    unlinkSync(path);
    await watched.look(2);
    expect(watched.secretsTold().at(-1)).toBeUndefined();
    expect(watched.faults).toHaveLength(1);
  });

  it('takes what its other files have while one stays empty', async () => {
    await using watched = new Watched();
    const keys = { 'encryption-key': newEncryptionKey(), 'signing-secret': randomUUID() };
    watched.fixture.secrets('a', keys);
    await watched.start();
    const renewed = randomUUID();
    watched.fixture.secrets('a', { 'encryption-key': '', 'signing-secret': renewed });
    await watched.look(3);
    expect(watched.told.at(-1)?.secrets).toEqual({
      subscriptionIds: [],
      signingSecrets: [renewed],
      encryptionKeys: [keys['encryption-key']],
    });
    expect(watched.faults).toHaveLength(1);
  });

  it('reads again at the next look what could not be read once, though nothing about it seems to change', async () => {
    await using watched = new Watched();
    const secret = randomUUID();
    watched.fixture.secrets('a', { 'signing-secret': secret });
    // A link to itself can be neither looked at nor read: while it stands the folder looks as it does without it.
    const link = join(watched.dir, 'a', 'encryption-key');
    symlinkSync('encryption-key', link);
    await watched.start();
    await watched.look(2);
    expect([watched.told, watched.faults.length]).toEqual([[], 1]);
    unlinkSync(link);
    await watched.look(1);
    expect(watched.secretsTold()).toEqual([secret]);
  });

  it('keeps every key while the folder itself is unavailable, says so once, and goes on when it is back', async () => {
    await using the = await watchedOne();
    const { watched, secret: first } = the;
    renameSync(watched.dir, `${watched.dir}-away`);
    await watched.look(3);
    expect(watched.faults.map(({ ref }) => ref)).toEqual(['*']);
    renameSync(`${watched.dir}-away`, watched.dir);
    const second = randomUUID();
    watched.fixture.secrets('a', { 'signing-secret': second });
    await watched.look(2);
    expect(watched.secretsTold()).toEqual([first, second]);
  });

  it('begins without the folder, which may be mounted later', async () => {
    await using watched = new Watched();
    rmSync(watched.dir, { recursive: true });
    await watched.start();
    expect(watched.faults).toHaveLength(1);
    const secret = randomUUID();
    watched.fixture.secrets('a', { 'signing-secret': secret });
    await watched.look(2);
    expect(watched.secretsTold()).toEqual([secret]);
  });

  it('tells nothing after it has stopped, which it may be asked for twice', async () => {
    await using the = await watchedOne();
    await Promise.all([the.watched.look(1), the.watched.stop()]);
    await the.watched.stop();
    expect(the.watched.told).toHaveLength(1);
  });
});
