import { describe, expect, it } from 'vitest';
import {
  type Bom,
  type Component,
  chartSbom,
  imageSbom,
  refuseIncomplete,
} from '../../../deploy/release/sbom.ts';
import { cyclonedxFaults as faultsOf } from './cyclonedx.ts';
import { baseImage, SOURCE } from './image-fixture.ts';

const DIGEST = `sha256:${'b'.repeat(64)}`;
const image = { manifest: DIGEST, config: DIGEST, architecture: 'amd64' };
const { base } = await baseImage();
const pinned = { ...base, reference: `${base.reference}@${DIGEST}`, digest: DIGEST };

/** As Syft writes it. */
const found = (id: string): Bom => ({
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  serialNumber: `urn:uuid:bf93ac54-1e4d-4d32-9bbd-2e799e31f61${id}`,
  metadata: {
    timestamp: `2026-02-0${id}T00:00:00Z`,
    component: { 'bom-ref': id, type: 'container', name: `/tmp/${id}` },
  },
  components: [
    library('tini', '0.19.0'),
    { ...library('fastify', '5.0.0'), properties: [{ name: 'syft:cpe23', value: 'cpe:…' }] },
    library('node', '24.21.0'),
    { 'bom-ref': 'os:debian', type: 'operating-system', name: 'debian', version: '12' },
  ],
  dependencies: [
    { ref: id, dependsOn: ['tini@0.19.0'] },
    { ref: 'tini@0.19.0', dependsOn: ['os:debian'] },
  ],
});
const library = (name: string, version: string): Component => ({
  'bom-ref': `${name}@${version}`,
  type: 'library',
  name,
  version,
});
const lock = (more: object = {}) =>
  JSON.stringify({
    packages: {
      '': { version: '1.2.3' },
      'node_modules/fastify': { version: '5.0.0' },
      'node_modules/vitest': { version: '1.0.0', dev: true },
      ...more,
    },
  });

describe('the SBOM of the image', () => {
  const bom = imageSbom(found('1'), image, base, SOURCE, 'v1');

  it('is CycloneDX 1.6', () => {
    expect(faultsOf(bom)).toEqual([]);
    expect(faultsOf(imageSbom(found('1'), image, pinned, SOURCE, 'v1'))).toEqual([]);
    expect(faultsOf({ ...bom, components: [{ type: 'x' } as unknown as Component] })).not.toEqual([]);
  });

  it('depends on the image, not on when it was scanned', () => {
    expect(imageSbom(found('2'), image, base, SOURCE, 'v1')).toEqual(bom);
    const { components, ...rest } = found('1');
    expect(imageSbom({ ...rest, components: components.toReversed() }, image, base, SOURCE, 'v1')).toEqual(
      bom,
    );
  });

  it('names the image by its digest, with all that was found in it', () => {
    expect(bom.metadata.component).toMatchObject({
      name: 'hookline',
      version: '1.2.3',
      hashes: [{ alg: 'SHA-256', content: 'b'.repeat(64) }],
    });
    const [own] = bom.dependencies ?? [];
    expect(own).toEqual({
      ref: bom.metadata.component['bom-ref'],
      dependsOn: [
        `base-image:${base.reference}`,
        'fastify@5.0.0',
        'node@24.21.0',
        'os:debian',
        'tini@0.19.0',
      ],
    });
    expect(bom.components.find(({ name }) => name === 'fastify')).not.toHaveProperty('properties');
  });

  it('marks a base image that is named by a tag alone', () => {
    const markOf = (one: Bom) => one.components[0];
    expect(markOf(bom)).toMatchObject({
      name: 'node',
      version: '24-slim',
      properties: [{ name: 'hookline:base-image', value: 'unpinned' }, {}],
    });
    expect(markOf(imageSbom(found('1'), image, pinned, SOURCE, 'v1'))).toMatchObject({
      name: 'node',
      purl: `pkg:oci/node@sha256%3A${'b'.repeat(64)}`,
      properties: [{ name: 'hookline:base-image', value: 'pinned' }, {}],
    });
  });

  it('is refused without a package that is shipped, or without Node', () => {
    expect(() => refuseIncomplete(bom, lock())).not.toThrow();
    const lacking = lock({ 'node_modules/a/node_modules/@b/c': { version: '2.0.0' } });
    expect(() => refuseIncomplete(bom, lacking)).toThrow('lacks @b/c@2.0.0.');
    // The base image is called node too, and is not Node.
    expect(bom.components[0]).toMatchObject({ type: 'container', name: 'node' });
    const isNode = ({ name, type }: Component) => name === 'node' && type !== 'container';
    const withoutNode = { ...bom, components: bom.components.filter((one) => !isNode(one)) };
    expect(() => refuseIncomplete(withoutNode, lock())).toThrow('lacks node.');
  });
});

describe('the SBOM of the chart', () => {
  const bom = chartSbom({ sha256: 'c'.repeat(64) }, image, SOURCE);

  it('is CycloneDX 1.6, and names the image that the chart installs', () => {
    expect(faultsOf(bom)).toEqual([]);
    expect(bom.metadata.component).toMatchObject({ hashes: [{ content: 'c'.repeat(64) }], version: '1.2.3' });
    expect(bom.components).toMatchObject([{ name: 'hookline', hashes: [{ content: 'b'.repeat(64) }] }]);
  });
});
