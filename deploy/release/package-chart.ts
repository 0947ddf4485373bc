import { createReadStream, createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { gunzip, gzip, normaliseTar } from './normalise-tar.ts';
import { run } from './run.ts';
import type { Source } from './source.ts';

type ChartBuild = {
  readonly helm: string;
  /** The exported commit. */
  readonly context: string;
  readonly scratch: string;
  readonly source: Source;
  readonly to: string;
};

/** Packages the chart with Helm, for the image of the same version. Helm writes the time of day into it: it goes. */
export async function packageChart({ helm, context, scratch, source, to }: ChartBuild): Promise<void> {
  const { version, epoch } = source;
  const folder = join(scratch, 'chart');
  mkdirSync(folder);
  const chart = join(context, 'deploy/helm/hookline');
  await run(helm, [
    'package',
    chart,
    '--version',
    version,
    '--app-version',
    version,
    '--destination',
    folder,
  ]);
  const packaged = createReadStream(join(folder, `hookline-${version}.tgz`));
  await pipeline(gzip(normaliseTar(gunzip(packaged), epoch)), createWriteStream(to));
}
