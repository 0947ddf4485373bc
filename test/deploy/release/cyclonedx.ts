import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Ajv } from 'ajv';
import { type Bom, SPEC_VERSION } from '../../../deploy/release/sbom.ts';

const library = createRequire(import.meta.url).resolve('@cyclonedx/cyclonedx-library/package.json');

/** A schema as CycloneDX publishes it, under the name by which others of them refer to it. */
function schema(name: string): object {
  const file = `${name}.SNAPSHOT.schema.json`;
  const content = JSON.parse(readFileSync(join(dirname(library), 'res/schema', file), 'utf8'));
  return { ...content, $id: `http://cyclonedx.org/schema/${file}` };
}

/** What is wrong with an SBOM by the schema of the version of CycloneDX that is written. */
export function cyclonedxFaults(bom: Bom): unknown[] {
  const schemas = ['spdx', 'jsf-0.82', 'cryptography-defs'].map(schema);
  const ajv = new Ajv({ strict: false, validateFormats: false, schemas });
  const validate = ajv.compile(schema(`bom-${SPEC_VERSION}`));
  validate(bom);
  return validate.errors ?? [];
}
