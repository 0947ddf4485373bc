import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { goModule } from './go-module.ts';
import type { Build } from './go-tool.ts';

/** The newest releases of the newest three minor versions: their modules hold the OpenAPI schemas of the API server. */
const RELEASES = ['v1.35.4', 'v1.36.3', 'v1.37.2'];

/** Resources of others that the chart and its examples use, by the file of their definition. */
const DEFINITIONS: [module: string, version: string, files: string[]][] = [
  ['sigs.k8s.io/gateway-api', 'v1.4.1', ['config/crd/standard/gateway.networking.k8s.io_httproutes.yaml']],
  [
    'github.com/prometheus-operator/prometheus-operator',
    'v0.85.0',
    ['servicemonitors', 'prometheusrules'].map(
      (name) => `example/prometheus-operator-crd/monitoring.coreos.com_${name}.yaml`,
    ),
  ],
  ['github.com/kedacore/keda/v2', 'v2.21.0', ['config/crd/bases/keda.sh_scaledobjects.yaml']],
  [
    'github.com/external-secrets/external-secrets',
    'v1.3.2',
    ['config/crds/bases/external-secrets.io_externalsecrets.yaml'],
  ],
];

export type KubernetesSchemas = {
  /** A folder for each minor version, as `kubectl-validate --local-schemas` wants it. */
  readonly versions: readonly { readonly version: string; readonly dir: string }[];
  /** A folder for `kubectl-validate --local-crds`. */
  readonly definitions: string;
};

/** Fetches the schemas by Go, once; minutes on a slow connection. */
export async function kubernetesSchemas(build: Build): Promise<KubernetesSchemas> {
  const versions = RELEASES.map((release) => ({
    release,
    version: release.slice(1, release.lastIndexOf('.')),
    dir: join(build.dir, `kubernetes-${release}`),
  }));
  for (const { release, dir } of versions) {
    await once(dir, build, async (into) => {
      const module = await goModule('k8s.io/kubernetes', release, build);
      copySchemas(join(module, 'api/openapi-spec/v3'), into);
    });
  }
  const definitions = join(build.dir, `definitions-${DEFINITIONS.map(([, version]) => version).join('-')}`);
  await once(definitions, build, async (into) => {
    mkdirSync(into);
    for (const [name, version, files] of DEFINITIONS) {
      const module = await goModule(name, version, build);
      for (const file of files) cpSync(join(module, file), join(into, file.split('/').at(-1) ?? ''));
    }
  });
  return { versions, definitions };
}

async function once(dir: string, { onProgress }: Build, make: (into: string) => Promise<void>) {
  if (existsSync(dir)) return;
  onProgress(`fetching ${dir.split('/').at(-1)} with Go, once`);
  const unfinished = `${dir}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  await make(unfinished);
  renameSync(unfinished, dir);
}

/** `apis__apps__v1_openapi.json` becomes `apis/apps/v1.json`, and `api__v1_openapi.json` `api/v1.json`. */
function copySchemas(from: string, into: string): void {
  for (const file of readdirSync(from)) {
    const [, path] = /^(api__[^_]+|apis__[^_]+__[^_]+)_openapi\.json$/.exec(file) ?? [];
    if (path !== undefined) cpSync(join(from, file), join(into, `${path.replaceAll('__', '/')}.json`));
  }
}
