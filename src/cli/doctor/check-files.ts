import { statSync } from 'node:fs';
import { readSealingKeys } from '../../crypto/sealing.ts';
import { listRefs, readDirSecrets } from '../../subscriptions/secrets-dir.ts';
import { loadConfig } from '../shell/connections.ts';
import { allSchemas } from '../shell/schemas-and-topics.ts';
import { inWords } from '../shell/shell.ts';
import { type Examination, type Finding, fault, ok, skipped, warning } from './finding.ts';

/**
 * The settings that no other examination reads, and the schema files, which several stand on. Settings of one process
 * alone are that process's to tell: it names all of their faults at its start.
 */
export const examineConfiguration: Examination = async (shell) => {
  const config = loadConfig(shell, 'runtime', 'recordSize', 'durability', 'commands', 'schemas');
  return [ok('schema files', `${allSchemas(config).length} can be compiled`)];
};

/** Whether the secret files can be used, and are nobody else's to read. */
export const examineSecrets: Examination = async (shell) => {
  const { secretsDir, sealingKeyFile } = loadConfig(shell, 'subscriptions').subscriptions;
  const findings: Finding[] = [];
  if (sealingKeyFile === undefined) findings.push(skipped('sealing key', 'SEALING_KEY_FILE is not set'));
  else findings.push(...examineSealingKey(sealingKeyFile));
  if (secretsDir === undefined) findings.push(skipped('secrets', 'SECRETS_DIR is not set'));
  else for (const ref of await listRefs(secretsDir)) findings.push(await examineRef(secretsDir, ref));
  return findings;
};

function examineSealingKey(path: string): Finding[] {
  try {
    const { all } = readSealingKeys(path);
    return [ok('sealing key', `${all.length} key(s)`), ...examineMode('sealing key', path)];
  } catch (error) {
    return [fault('sealing key', inWords(error), 'write a key: openssl rand -hex 32')];
  }
}

function examineMode(check: string, path: string): Finding[] {
  const { mode, uid } = statSync(path);
  // What somebody else owns is read by way of its group: so Kubernetes mounts a Secret.
  const tooMuch = uid === process.getuid?.() ? 0o077 : 0o007;
  return (mode & tooMuch) === 0 ? [] : [warning(check, `${path} can be read by others`, `chmod 600 ${path}`)];
}

async function examineRef(dir: string, ref: string): Promise<Finding> {
  const check = `secrets of ${ref}`;
  try {
    const { subscriptionIds, signingSecrets, encryptionKeys } = await readDirSecrets(dir, ref);
    const counts = `${subscriptionIds.length} subscription id(s), ${signingSecrets.length} signing secret(s), ${encryptionKeys.length} encryption key(s)`;
    if (subscriptionIds.length > 0 && signingSecrets.length === 0) {
      return warning(check, counts, `write ${dir}/${ref}/signing-secret`);
    }
    return ok(check, counts);
  } catch (error) {
    return fault(check, inWords(error), 'correct the file: one value per line');
  }
}
