import { readEventSchemas } from '../../avro/event-schema.ts';
import type { RegisteredSchema } from '../../avro/resolve-ids.ts';
import { readCommandSchemas, readSchemaFiles } from '../../avro/schema-files.ts';
import { hasCode } from '../../core/errors.ts';
import { subjectOf, topicName } from '../../core/names.ts';
import { connectRegistry, loadRegistryConfig } from '../shell/connections.ts';
import { type Examination, type Finding, failure, fault, ok } from './finding.ts';

/** Whether the registry answers, and has the schema of every topic. */
export const examineRegistry: Examination = async (shell) => {
  const config = loadRegistryConfig(shell);
  const registry = connectRegistry(config);
  const { dir } = config.schemas;
  const schemas: RegisteredSchema[] = [
    ...readEventSchemas(readSchemaFiles(dir, 'events')).all,
    ...Object.values(readCommandSchemas(readSchemaFiles(dir, 'commands'))),
  ];
  try {
    const subjects = await registry.subjects();
    const findings: Finding[] = [ok('registry', `answers, ${subjects.length} subject(s)`)];
    for (const { topic, file, codec } of schemas) {
      const subject = subjectOf(topicName(config.topics.prefix, topic));
      findings.push(await examineSubject(subject, file, () => registry.idOf(subject, codec.schema)));
    }
    return findings;
  } catch (error) {
    const mend = 'check SCHEMA_REGISTRY_URL (its Confluent API), the network and the credentials';
    return [failure('registry', error, mend)];
  }
};

async function examineSubject(subject: string, file: string, idOf: () => Promise<number>): Promise<Finding> {
  const check = `subject ${subject}`;
  try {
    return ok(check, `id ${await idOf()} is ${file}`);
  } catch (error) {
    if (!hasCode(error, 'SCHEMA_NOT_REGISTERED')) throw error;
    return fault(check, `${file} is not registered`, 'hookline schemas push');
  }
}
