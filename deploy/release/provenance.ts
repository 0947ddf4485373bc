import type { BaseImage } from './base-image.ts';
import type { Source } from './source.ts';

/** What a release says about itself: how it was built, of what, and for which files that holds. */
export type Statement = {
  readonly _type: 'https://in-toto.io/Statement/v1';
  readonly subject: readonly { readonly name: string; readonly digest: { readonly sha256: string } }[];
  readonly predicateType: 'https://slsa.dev/provenance/v1';
  readonly predicate: {
    readonly buildDefinition: {
      readonly externalParameters: {
        readonly version: string;
        readonly revision: string;
        readonly baseImage: string;
      };
      readonly internalParameters: Readonly<Record<string, unknown>>;
      readonly [more: string]: unknown;
    };
    readonly [more: string]: unknown;
  };
};

type Facts = {
  readonly source: Source;
  readonly base: BaseImage;
  /** SHA-256 of each file, and of the image's manifest, by name. */
  readonly subjects: ReadonlyMap<string, string>;
  /** SHA-256 of package-lock.json as committed. */
  readonly lockDigest: string;
  /** Versions of the programs that built it. */
  readonly tools: Readonly<Record<string, string>>;
  readonly key: 'given' | 'trial';
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** Described in docs/release.md. */
const BUILD_TYPE = 'urn:hookline:make-release:v1';
const LOCAL_BUILDER = 'urn:hookline:builder:local';

/**
 * An in-toto statement with the provenance that SLSA 1.0 specifies. It has no times of day and no random ids, so that two
 * builds of one commit by the same tools say the same.
 */
export function provenance({ source, base, subjects, lockDigest, tools, key, env }: Facts): Statement {
  const { version, revision, epoch, repository } = source;
  const pinned = base.digest !== null;
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [...subjects].map(([name, sha256]) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: { version, revision, baseImage: base.reference },
        internalParameters: { sourceDateEpoch: epoch, baseImage: pinned ? 'pinned' : 'unpinned', key },
        resolvedDependencies: [
          {
            ...(repository && { uri: `git+${repository}` }),
            name: 'source',
            digest: { gitCommit: revision },
          },
          {
            name: 'base image',
            uri: `docker://${base.reference}`,
            ...(base.digest && { digest: { sha256: base.digest.replace('sha256:', '') } }),
            annotations: { pinned, configDigest: base.configDigest },
          },
          { name: 'package-lock.json', digest: { sha256: lockDigest } },
        ],
      },
      runDetails: { builder: { id: builderOf(env), version: tools } },
    },
  };
}

/** On GitHub, the workflow at its commit. */
function builderOf({ GITHUB_ACTIONS, GITHUB_SERVER_URL, GITHUB_WORKFLOW_REF }: Facts['env']): string {
  return GITHUB_ACTIONS === 'true' && GITHUB_WORKFLOW_REF
    ? `${GITHUB_SERVER_URL}/${GITHUB_WORKFLOW_REF}`
    : LOCAL_BUILDER;
}
