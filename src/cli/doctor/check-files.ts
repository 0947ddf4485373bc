import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { misspelt } from '../../config/misspelt.ts';
import { readSealingKeys } from '../../crypto/sealing.ts';
import { providerSettings } from '../../provider/settings.ts';
import { listRefs, readDirSecrets, SECRET_FILES } from '../../subscriptions/secrets-dir.ts';
import { CLI_SETTINGS, loadConfig } from '../shell/connections.ts';
import { type Check, type Finding, fault, ok, skipped, warning } from '../shell/finding.ts';
import { allSchemas } from '../shell/schemas-and-topics.ts';
import { describeError } from '../shell/shell.ts';

/** Settings that no other check reads, and the schema files. Those of a single process are left out: it reports them all when it starts. */
export const checkConfiguration: Check = async (shell) => {
  const config = loadConfig(shell, 'runtime', 'recordSize', 'durability', 'commands', 'schemas');
  return [ok('schema files', `${allSchemas(config).length} compiled`)];
};

/** Variables that nothing reads although they look like a setting: named also where the configuration has other faults. */
export const checkNames: Check = async (shell) =>
  misspelt({ ...CLI_SETTINGS, provider: providerSettings }, shell.source.env).map(({ variable, meant }) =>
    warning('configuration', `${variable} is not a setting and is not read`, `did you mean ${meant}?`),
  );

/** Whether the secret files are usable, and unreadable to other users. */
export const checkSecrets: Check = async (shell) => {
  const { secretsDir, sealingKeyFile } = loadConfig(shell, 'subscriptions').subscriptions;
  const findings: Finding[] = [];
  if (sealingKeyFile === undefined) findings.push(skipped('sealing key', 'SEALING_KEY_FILE is not set'));
  else findings.push(...checkSealingKey(sealingKeyFile));
  if (secretsDir === undefined) findings.push(skipped('secrets', 'SECRETS_DIR is not set'));
  else
    for (const ref of await listRefs(secretsDir))
      findings.push(await checkRef(secretsDir, ref), ...checkModes(secretsDir, ref));
  return findings;
};

function checkSealingKey(path: string): Finding[] {
  try {
    const { all } = readSealingKeys(path);
    return [ok('sealing key', `${all.length} key(s)`), ...checkMode('sealing key', path)];
  } catch (error) {
    return [fault('sealing key', describeError(error), 'write a key: openssl rand -hex 32')];
  }
}

function checkModes(dir: string, ref: string): Finding[] {
  const paths = SECRET_FILES.map((name) => join(dir, ref, name));
  return paths.flatMap((path) => (existsSync(path) ? checkMode(`secrets of ${ref}`, path) : []));
}

function checkMode(check: string, path: string): Finding[] {
  const { mode, uid } = statSync(path);
  // A file of another owner is read through its group: this is how Kubernetes mounts a Secret.
  const forbidden = uid === process.getuid?.() ? 0o077 : 0o007;
  return (mode & forbidden) === 0
    ? []
    : [warning(check, `other users can read ${path}`, `chmod 600 ${path}`)];
}

async function checkRef(dir: string, ref: string): Promise<Finding> {
  const check = `secrets of ${ref}`;
  try {
    const { subscriptionIds, signingSecrets, encryptionKeys } = await readDirSecrets(dir, ref);
    const counts = `${subscriptionIds.length} subscription id(s), ${signingSecrets.length} signing secret(s), ${encryptionKeys.length} encryption key(s)`;
    if (subscriptionIds.length > 0 && signingSecrets.length === 0) {
      return warning(check, counts, `write ${dir}/${ref}/signing-secret`);
    }
    return ok(check, counts);
  } catch (error) {
    return fault(check, describeError(error), 'correct the file: one value per line');
  }
}
