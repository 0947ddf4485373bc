import type { Registry } from '../../avro/registry.ts';
import { envReader } from '../../config/env.ts';
import { UNOBSERVED_FILES } from '../../config/renewed-files.ts';
import { hasCode } from '../../core/errors.ts';
import { subjectOf, topicName } from '../../core/names.ts';
import { newId } from '../../crypto/ids.ts';
import { openProvider } from '../../provider/open-provider.ts';
import { createProviderApi } from '../../provider/provider-api.ts';
import { checkProviderSettings, providerSettings } from '../../provider/settings.ts';
import { systemClock } from '../../runtime/clock.ts';
import { type Config, connectRegistry, loadConfig } from '../shell/connections.ts';
import { type Check, type Finding, failure, fault, ok, skipped, warning } from '../shell/finding.ts';
import { allSchemas } from '../shell/schemas-and-topics.ts';
import { describeError } from '../shell/shell.ts';

/** Whether the provider issues a token and accepts it. */
export const checkProvider: Check = async ({ source }) => {
  if (!source.env.PROVIDER_AUTH_URL)
    return [skipped('token', 'PROVIDER_AUTH_URL is not set: control is not configured here')];
  const reader = envReader(source);
  const settings = reader.read(providerSettings);
  checkProviderSettings(settings, reader);
  reader.done({});
  const findings: Finding[] = [];
  const provider = openProvider({
    files: UNOBSERVED_FILES,
    settings,
    newId,
    clock: systemClock,
    onRequest: () => {},
    onNarrowerScope: (missing) => {
      findings.push(
        warning(
          'token',
          `granted without ${missing.join(' ')}`,
          'have the provider grant the scopes, or request fewer in PROVIDER_SCOPE',
        ),
      );
    },
  });
  try {
    const { judgement, why, items } = await createProviderApi(provider.call, settings.dialect).list();
    findings.push(ok('token', 'granted'));
    if (judgement !== 'done')
      findings.push(fault('subscriptions API', why, "check PROVIDER_BASE_URL and the API user's permission"));
    else if (!items)
      findings.push(
        fault(
          'subscriptions API',
          "the list does not have the dialect's shape",
          'correct "list" in PROVIDER_DIALECT_FILE',
        ),
      );
    else if (items.length > 0 && items.every(({ url }) => url === null))
      findings.push(
        warning(
          'subscriptions API',
          `lists ${items.length} subscription(s), all without an address: what a call without an answer has made is not found`,
          'correct "list.url" in PROVIDER_DIALECT_FILE if the provider shows them',
        ),
      );
    else findings.push(ok('subscriptions API', `lists ${items.length} subscription(s)`));
  } catch (error) {
    findings.push(
      fault('token', describeError(error), 'check PROVIDER_AUTH_URL, the JWT and PROVIDER_SCOPE'),
    );
  } finally {
    await provider.stop();
  }
  return findings;
};

/** Whether the registry answers and has every schema. */
export const checkRegistry: Check = async (shell) => {
  const config = loadConfig(shell, 'topics', 'registry', 'schemas');
  const registry = connectRegistry(config);
  const schemas = allSchemas(config);
  try {
    const subjects = await registry.subjects();
    const findings: Finding[] = [ok('registry', `answers, ${subjects.length} subject(s)`)];
    for (const { topic, file, codec } of schemas) {
      const subject = subjectOf(topicName(config.topics.prefix, topic));
      findings.push(await checkSubject(registry, { subject, file, schema: codec.schema }));
    }
    return findings;
  } catch (error) {
    const remedy = 'check SCHEMA_REGISTRY_URL (its Confluent API), the network and the credentials';
    return [failure('registry', error, remedy)];
  }
};

async function checkSubject(
  registry: Registry,
  { subject, file, schema }: { subject: string; file: string; schema: string },
): Promise<Finding> {
  const check = `subject ${subject}`;
  try {
    const id = await registry.idOf(subject, schema);
    const text = `id ${id} is ${file}`;
    const level = await registry.compatibility(subject);
    return level === null || level === 'FULL_TRANSITIVE'
      ? ok(check, text)
      : warning(
          check,
          `${text}; its compatibility is ${level}, not FULL_TRANSITIVE`,
          'hookline schemas push',
        );
  } catch (error) {
    if (!hasCode(error, 'SCHEMA_NOT_REGISTERED')) throw error;
    return fault(check, `${file} is not registered`, 'hookline schemas push');
  }
}

/** Tokens and commands expire by the clock. */
const MAX_SKEW_MS = 5_000;

/** Compares the clock with the Date header of the registry, which has whole seconds. */
export const checkClock: Check = async (shell) => {
  const config = loadConfig(shell, 'registry');
  const start = Date.now();
  const date = await readTime(config).catch(() => undefined);
  if (date === undefined) return [skipped('clock', 'the registry does not answer')];
  if (date === null) return [skipped('clock', 'the registry sends no Date header')];
  // It was told at some time between: a token or an answer may take longer than the clocks may differ.
  const skew = Math.max(start - (date + 1_000), date - Date.now());
  if (skew <= MAX_SKEW_MS) return [ok('clock', 'agrees with the registry')];
  return [
    warning(
      'clock',
      `differs from the registry's by ${Math.round(skew / 1_000)} s`,
      'synchronize the clock of this host (NTP)',
    ),
  ];
};

/** Why it cannot be asked is a finding of its own: see {@link checkRegistry}. */
const readTime = async (config: Config<'registry'>) => connectRegistry(config).time();
