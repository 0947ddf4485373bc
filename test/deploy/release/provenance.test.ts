import { describe, expect, it } from 'vitest';
import { defaultBase, digestIn } from '../../../deploy/release/base-image.ts';
import { provenance } from '../../../deploy/release/provenance.ts';
import { readFile } from '../../support/generated/files.ts';
import { baseImage, SOURCE } from './image-fixture.ts';

const DIGEST = `sha256:${'b'.repeat(64)}`;
const { base } = await baseImage();
const facts = {
  source: SOURCE,
  base,
  subjects: new Map([['hookline-1.2.3.tgz', 'c'.repeat(64)]]),
  lockDigest: 'd'.repeat(64),
  tools: { helm: 'v3' },
  key: 'trial' as const,
  env: {},
};

describe('the provenance', () => {
  it('is an in-toto statement with the provenance of SLSA 1.0', () => {
    const { predicate, ...statement } = provenance(facts);
    expect(statement).toEqual({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: 'hookline-1.2.3.tgz', digest: { sha256: 'c'.repeat(64) } }],
      predicateType: 'https://slsa.dev/provenance/v1',
    });
    expect(predicate).toMatchObject({
      buildDefinition: {
        buildType: expect.stringMatching(/^urn:/),
        externalParameters: { version: '1.2.3', revision: SOURCE.revision },
        resolvedDependencies: [
          { uri: 'git+https://example.org/hookline.git', digest: { gitCommit: SOURCE.revision } },
          { name: 'base image' },
          { name: 'package-lock.json', digest: { sha256: 'd'.repeat(64) } },
        ],
      },
      runDetails: { builder: { id: 'urn:hookline:builder:local', version: { helm: 'v3' } } },
    });
  });

  it('marks a base image that is named by a tag, and a key for trials', () => {
    expect(provenance(facts).predicate.buildDefinition.internalParameters).toMatchObject({
      baseImage: 'unpinned',
      key: 'trial',
    });
    const pinned = { ...base, reference: `${base.reference}@${DIGEST}`, digest: DIGEST };
    const { buildDefinition } = provenance({ ...facts, base: pinned, key: 'given' }).predicate;
    expect(buildDefinition).toMatchObject({
      internalParameters: { baseImage: 'pinned', key: 'given' },
      resolvedDependencies: [{}, { digest: { sha256: 'b'.repeat(64) }, annotations: { pinned: true } }, {}],
    });
  });

  it('names the workflow that built it', () => {
    const env = {
      GITHUB_ACTIONS: 'true',
      GITHUB_SERVER_URL: 'https://github.example',
      GITHUB_WORKFLOW_REF: 'o/r/.github/workflows/release.yaml@refs/tags/v1.2.3',
    };
    expect(provenance({ ...facts, env }).predicate.runDetails).toMatchObject({
      builder: { id: 'https://github.example/o/r/.github/workflows/release.yaml@refs/tags/v1.2.3' },
    });
  });
});

describe('the base image', () => {
  it('is the one that the Dockerfile names', () => {
    expect(defaultBase(readFile('deploy/Dockerfile'))).toMatch(/^node:24-/);
    expect(() => defaultBase('FROM scratch')).toThrow('has no line ARG NODE_IMAGE=');
  });

  it('is pinned where the reference ends with a digest', () => {
    expect(digestIn(`node:24@${DIGEST}`)).toBe(DIGEST);
    expect([digestIn('node:24'), digestIn('node:24@sha256:1234')]).toEqual([null, null]);
  });
});
