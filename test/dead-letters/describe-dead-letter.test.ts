import { expect, it } from 'vitest';
import { causeOf } from '../../src/dead-letters/describe-dead-letter.ts';
import { deadLetter } from '../support/dead-letter.ts';

it.each([
  ['DECRYPT', 'UNDECRYPTABLE', 'add the key to SECRETS_DIR/ledger-eu/encryption-key'],
  ['ENCODE', 'UNENCODABLE', 'correct the schema file'],
  ['ENCODE', 'UNENCODABLE', 'or set BODY_STORE if it is not set'],
  ['ENCODE', 'UNENCODABLE', 'where type or entityId is too long, redrive it without BODY_STORE'],
  ['ENCODE', 'NOT_A_PROBE', 'a redrive would end the same'],
])('the remedy of a dead-letter record of stage %s with %s says: %s', (stage, code, said) => {
  expect(causeOf(deadLetter({ stage, code })).remedy).toContain(said);
});

it('no remedy for what came through the ref of probes and is none asks for another schema file', () => {
  expect(causeOf(deadLetter({ stage: 'ENCODE', code: 'NOT_A_PROBE' })).remedy).not.toContain('schema');
});

it('no remedy for a body that is in the object store is a redrive without BODY_STORE, which could not read it', () => {
  const object = { uri: 's3://events/body.bin', bytes: 2_000_000, sha256: 'a'.repeat(64) };
  const { remedy } = causeOf({ ...deadLetter({ stage: 'ENCODE', code: 'UNENCODABLE', at: '2:7' }), object });
  expect(remedy).toContain('correct the schema file');
  expect(remedy).toContain('hookline dlq show 2:7 --body FILE), then dismiss it');
  expect(remedy).not.toContain('BODY_STORE');
});
