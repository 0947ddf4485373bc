import { optional, path, text, url } from '../config/env.ts';
import { plaintextSettings } from '../config/plaintext-credentials.ts';

/** Where the schemas are: files here, ids and the schemas of others at the registry. */
export const schemaSettings = {
  dir: optional(
    path('SCHEMAS_DIR', {
      about:
        'directory with events/*.avsc and commands/*.avsc; unset means the schemas that are part of Hookline',
    }),
  ),
};

export const registrySettings = {
  url: url('SCHEMA_REGISTRY_URL', { about: "address of the schema registry's Confluent API" }),
  username: optional(
    text('SCHEMA_REGISTRY_USERNAME', { about: 'user for basic authentication at the registry' }),
  ),
  passwordFile: optional(path('SCHEMA_REGISTRY_PASSWORD_FILE', { about: "file with that user's password" })),
  caFile: optional(
    path('SCHEMA_REGISTRY_CA_FILE', { about: "PEM file with the registry's certificate authority" }),
  ),
  ...plaintextSettings,
};
