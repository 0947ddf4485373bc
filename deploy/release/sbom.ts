import type { BaseImage } from './base-image.ts';
import { sha256, uuidOf } from './digest.ts';
import type { ImageDigests } from './oci-archive.ts';
import { ReleaseError } from './release-error.ts';
import type { Source } from './source.ts';

/** As much of CycloneDX 1.6 as is read or written here. */
export type Component = {
  readonly 'bom-ref'?: string;
  readonly type: string;
  readonly name: string;
  readonly version?: string;
  readonly purl?: string;
  readonly [more: string]: unknown;
};
type Dependency = { readonly ref: string; readonly dependsOn?: readonly string[] };
export type Bom = {
  readonly bomFormat: 'CycloneDX';
  readonly specVersion: string;
  readonly serialNumber?: string;
  readonly metadata: { readonly component: Component; readonly [more: string]: unknown };
  readonly components: readonly Component[];
  readonly dependencies?: readonly Dependency[];
};

/** The version of CycloneDX that is written. */
export const SPEC_VERSION = '1.6';
const LICENCE = [{ license: { id: 'Apache-2.0' } }];
const property = (name: string, value: string) => ({ name: `hookline:${name}`, value });

/**
 * The bill of materials of the image: what Syft found in it (npm packages, Debian packages, Node), under the image's own
 * name and digest, with the base image. It depends on the image alone: Syft's times and random ids are replaced.
 */
export function imageSbom(
  found: Bom,
  image: ImageDigests,
  base: BaseImage,
  source: Source,
  syft: string,
): Bom {
  const component = imageComponent(image, source);
  const { 'bom-ref': before } = found.metadata.component;
  const own = (ref: string) => (ref === before ? component['bom-ref'] : ref);
  const components = found.components
    .map(withoutGuesses)
    .toSorted((a, b) => compare(a['bom-ref'] ?? a.name, b['bom-ref'] ?? b.name));
  const dependencies = (found.dependencies ?? [])
    .map(({ ref, dependsOn = [] }) => ({ ref: own(ref), dependsOn: dependsOn.map(own).toSorted(compare) }))
    .filter(({ ref }) => ref !== component['bom-ref'])
    .toSorted((a, b) => compare(a.ref, b.ref));
  const baseComponent = baseImageComponent(base);
  return {
    ...head(image.manifest, component, source, [{ type: 'application', name: 'syft', version: syft }]),
    components: [baseComponent, ...components],
    dependencies: [
      {
        ref: component['bom-ref'],
        dependsOn: [baseComponent, ...components].flatMap((one) => one['bom-ref'] ?? []),
      },
      ...dependencies,
    ],
  };
}

/** The bill of materials of the chart, whose one component is the image. */
export function chartSbom(chart: { sha256: string }, image: ImageDigests, source: Source): Bom {
  const { version } = source;
  const component = {
    'bom-ref': `hookline-chart@${version}`,
    type: 'application',
    name: 'hookline-chart',
    version,
    licenses: LICENCE,
    hashes: [{ alg: 'SHA-256', content: chart.sha256 }],
    purl: `pkg:generic/hookline-chart@${encodeURIComponent(version)}`,
  };
  const used = imageComponent(image, source);
  return {
    ...head(chart.sha256, component, source, []),
    components: [used],
    dependencies: [{ ref: component['bom-ref'], dependsOn: [used['bom-ref']] }],
  };
}

/**
 * Refuses a bill of materials that lacks what the image is known to have.
 * @param lock package-lock.json
 * @throws ReleaseError naming what is missing
 */
export function refuseIncomplete({ components }: Bom, lock: string): void {
  const { packages }: { packages: Record<string, { version: string; dev?: boolean; optional?: boolean }> } =
    JSON.parse(lock);
  const known = new Set(components.map(({ name, version }) => `${name}@${version}`));
  const shipped = Object.entries(packages).filter(([path, one]) => path !== '' && !one.dev && !one.optional);
  const wanted = shipped.map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`);
  // The base image may be called node too.
  const names = new Set(components.filter(({ type }) => type !== 'container').map(({ name }) => name));
  const missing = [
    ...wanted.filter((name) => !known.has(name)),
    ...['node', 'tini', 'debian'].filter((name) => !names.has(name)),
  ];
  if (missing.length > 0)
    throw new ReleaseError(
      `The SBOM of the image lacks ${missing.join(', ')}. Was the image built from this commit?`,
    );
}

const compare = (a = '', b = '') => (a < b ? -1 : a > b ? 1 : 0);

function head(subject: string, component: Component, { epoch }: Source, tools: readonly object[]) {
  return {
    $schema: `http://cyclonedx.org/schema/bom-${SPEC_VERSION}.schema.json`,
    bomFormat: 'CycloneDX' as const,
    specVersion: SPEC_VERSION,
    serialNumber: `urn:uuid:${uuidOf(sha256(subject))}`,
    version: 1,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      ...(tools.length > 0 && { tools: { components: tools } }),
      component,
    },
  };
}

function imageComponent({ manifest, architecture }: ImageDigests, { version, revision }: Source) {
  return {
    'bom-ref': `hookline@${manifest}`,
    type: 'container',
    name: 'hookline',
    version,
    licenses: LICENCE,
    hashes: [{ alg: 'SHA-256', content: manifest.replace('sha256:', '') }],
    purl: `pkg:oci/hookline@${encodeURIComponent(manifest)}?arch=${architecture}`,
    properties: [property('revision', revision)],
  };
}

function baseImageComponent({ reference, digest, configDigest }: BaseImage): Component {
  const [, name = reference, tag] = /^(.*?)(?::([\w.-]+))?(?:@.*)?$/.exec(reference) ?? [];
  const purl = digest && `pkg:oci/${name.split('/').at(-1)}@${encodeURIComponent(digest)}`;
  return {
    'bom-ref': `base-image:${reference}`,
    type: 'container',
    name,
    ...(tag && { version: tag }),
    ...(purl && { purl }),
    properties: [
      property('base-image', digest ? 'pinned' : 'unpinned'),
      property('base-image-config-digest', configDigest),
    ],
  };
}

/** Syft derives names for vulnerability databases (CPE) from parts of a name, a dozen for a package: the first stays. */
function withoutGuesses(component: Component): Component {
  const { properties, ...rest } = component as Component & { properties?: { name: string }[] };
  const kept = properties?.filter(({ name }) => name !== 'syft:cpe23');
  return kept?.length ? { ...rest, properties: kept } : rest;
}
