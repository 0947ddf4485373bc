import { renameSync, writeFileSync } from 'node:fs';
import { createMetrics, type Metrics } from '../../runtime/metrics.ts';

/** What a run found, as numbers; null where it is not known. */
export type VerifyFigures = {
  readonly exitCode: number;
  readonly at: number;
  readonly acknowledgeSeconds: number | null;
  readonly recordSeconds: number | null;
  readonly missing: number | null;
};

/**
 * Writes a file for the textfile collector of Prometheus's node exporter, which must never read half of one.
 * @throws where the file cannot be written
 */
export async function writeMetricsFile(path: string, figures: VerifyFigures): Promise<void> {
  const metrics = createMetrics({ ofNode: false });
  const own = verifyMetrics(metrics);
  own.success.set(figures.exitCode === 0 ? 1 : 0);
  own.exitCode.set(figures.exitCode);
  own.at.set(figures.at / 1_000);
  // What is not known is no zero.
  const known = [
    [own.acknowledge, figures.acknowledgeSeconds],
    [own.record, figures.recordSeconds],
    [own.missing, figures.missing],
  ] as const;
  for (const [gauge, value] of known) {
    if (value === null) gauge.remove();
    else gauge.set(value);
  }
  const beside = `${path}.${process.pid}`;
  writeFileSync(beside, await metrics.registry.metrics());
  renameSync(beside, path);
}

/** A run of `hookline verify`. */
export const verifyMetrics = (metrics: Metrics) => ({
  success: metrics.gauge({
    name: 'hookline_verify_success',
    help: '1 if the last run of hookline verify found everything well, else 0',
  }),
  exitCode: metrics.gauge({
    name: 'hookline_verify_exit_code',
    help: 'Exit code of the last run: 0 well, 1 not well, 3 could not tell',
  }),
  at: metrics.gauge({
    name: 'hookline_verify_timestamp_seconds',
    help: 'When the last run ended, in seconds since 1970',
  }),
  acknowledge: metrics.gauge({
    name: 'hookline_verify_acknowledge_seconds',
    help: 'From sending the probe to its acknowledgement; absent if it was not acknowledged',
  }),
  record: metrics.gauge({
    name: 'hookline_verify_record_seconds',
    help: 'From sending the probe until its record was read; absent if it was not',
  }),
  missing: metrics.gauge({
    name: 'hookline_verify_missing',
    help: 'Webhooks acknowledged and neither written nor in a spool; absent if that is not known',
  }),
});
