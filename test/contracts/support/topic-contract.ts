import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import { CONTRACTS } from '../../support/generated/contracts.ts';
import { ROOT } from '../../support/source-tree.ts';
import type { Fixture } from '../../support/topics-fixture.ts';

/** The generated contract of a topic, for the topic of a fixture: with its prefix, changed as a test needs it. */
export function contractFor(
  fixture: Fixture,
  topic: string,
  { physicalName = fixture.topic(topic), text = (yaml: string) => yaml, isHostLiteral = false } = {},
): string {
  const document = parseDocument(text(readFileSync(join(ROOT, CONTRACTS, `${topic}.odcs.yaml`), 'utf8')));
  document.setIn(['schema', 0, 'physicalName'], physicalName);
  // Older versions take no host from the environment.
  if (isHostLiteral) document.setIn(['servers', 0, 'host'], fixture.env.KAFKA_BROKERS);
  const file = join(fixture.dir, `${physicalName}.odcs.yaml`);
  writeFileSync(file, document.toString());
  return file;
}
