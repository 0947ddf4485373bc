import { readEventSchemas } from '../../avro/event-schema.ts';
import { readCommandSchemas, readSchemaFiles } from '../../avro/schema-files.ts';
import { envReader } from '../../config/env.ts';
import { runtimeSettings } from '../../config/shared-settings.ts';
import {
  commandTopicSettings,
  durabilitySettings,
  recordSizeSettings,
} from '../../kafka/connect/settings.ts';
import { loadCliConfig } from '../shell/connections.ts';
import { type Examination, ok } from './finding.ts';

/**
 * The settings that no other examination reads, and the schema files, which several stand on. Settings of one process
 * alone are that process's to tell: it names all of their faults at its start.
 */
export const examineConfiguration: Examination = async (shell) => {
  const reader = envReader(shell.source);
  reader.read(runtimeSettings);
  reader.read(recordSizeSettings);
  reader.read(durabilitySettings);
  reader.read(commandTopicSettings('any'));
  reader.done({});
  const { dir } = loadCliConfig(shell).schemas;
  const events = readEventSchemas(readSchemaFiles(dir, 'events')).all;
  const commands = Object.values(readCommandSchemas(readSchemaFiles(dir, 'commands')));
  return [ok('schema files', `${events.length + commands.length} can be compiled`)];
};
