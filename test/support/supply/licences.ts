/** An npm package of the lock file, with its licence as an SPDX expression. */
export type LicencedPackage = {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** Whether it is in the image; the others are for development. */
  readonly isShipped: boolean;
};

/** Licences of what is in the image: they ask for no more than that they, and who wrote it, are named. */
const SHIPPED = ['MIT', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', '0BSD', 'BlueOak-1.0.0'];
/** Of what only developers run: also one whose changed files would have to be published. */
const DEVELOPMENT = [...SHIPPED, 'MPL-2.0', 'Unlicense'];

/** Packages whose package.json states no SPDX licence. Each was read in the package: its LICENSE file is MIT's. */
const READ: Readonly<Record<string, string>> = {
  '@kafkajs/confluent-schema-registry': 'MIT',
  buildcheck: 'MIT',
  'cpu-features': 'MIT',
  ssh2: 'MIT',
};

type Lock = { packages: Record<string, { version: string; license?: string; dev?: boolean }> };

/** Every package of a package-lock.json, each version once, in the order of the names. */
export function licencesOf(lock: string): LicencedPackage[] {
  const { packages }: Lock = JSON.parse(lock);
  const found = Object.entries(packages)
    .filter(([path]) => path !== '')
    .map(([path, { version, license, dev }]) => {
      const name = path.replace(/^.*node_modules\//, '');
      return { name, version, licence: license ?? READ[name] ?? 'unknown', isShipped: !dev };
    });
  const unique = new Map<string, LicencedPackage>();
  for (const one of found) {
    const key = `${one.name}@${one.version}`;
    // What is in the image and used in development too is in the image.
    if (one.isShipped || !unique.has(key)) unique.set(key, one);
  }
  return [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** Whether the licence is one that Hookline may use, or offers one by `OR`. */
export function isAllowed({ licence, isShipped }: LicencedPackage): boolean {
  const allowed = isShipped ? SHIPPED : DEVELOPMENT;
  return licence
    .replaceAll(/[()]/g, '')
    .split(' OR ')
    .some((one) => allowed.includes(one));
}
