import type { RenewalObserver, Validity } from '../config/renewed-files.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

/**
 * What becomes of certificate and password files that change while a process runs: one log line each. How long the
 * certificates in use are valid goes into the metrics of `report`, as it is at each scrape.
 */
export function observeFiles(logger: Logger): RenewalObserver & { report(metrics: Metrics): void } {
  const presented = new Map<string, () => Validity>();
  return {
    renewed: (files) => logger.info({ files: files.map(({ variable }) => variable) }, 'changed files loaded'),
    unusable: (err) =>
      logger.error({ err }, 'changed files cannot be used; the previous content stays in use'),
    presents: (variable, validity) => void presented.set(variable, validity),
    report(metrics) {
      const { notBefore, notAfter } = certificateMetrics(metrics);
      metrics.samplers.add(() => {
        for (const [file, validity] of presented) {
          const valid = validity();
          notBefore.set({ file }, valid.notBefore.getTime() / 1_000);
          notAfter.set({ file }, valid.notAfter.getTime() / 1_000);
        }
      });
    },
  };
}

/** Certificates that Hookline presents: its own, not those of authorities. */
export const certificateMetrics = (metrics: Metrics) => ({
  notBefore: metrics.gauge({
    name: 'hookline_certificate_not_before_timestamp_seconds',
    help: 'Since when the certificate in use is valid, in seconds since 1970, by the variable that names its file',
    labels: ['file'],
  }),
  notAfter: metrics.gauge({
    name: 'hookline_certificate_not_after_timestamp_seconds',
    help: 'When the certificate in use expires, in seconds since 1970, by the variable that names its file',
    labels: ['file'],
  }),
});
