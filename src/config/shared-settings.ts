import { Fault, integer, milliseconds, oneOf, optional, setting, text, url } from './env.ts';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** What every process of Hookline has: a log and an admin port. */
export const runtimeSettings = {
  logLevel: oneOf('LOG_LEVEL', {
    about: 'lowest severity that is logged; debug adds a line per delivery',
    fallback: 'info',
    values: LOG_LEVELS,
  }),
  adminHost: text('ADMIN_HOST', { about: 'address of /livez, /readyz and /metrics', fallback: '0.0.0.0' }),
  adminPort: integer('ADMIN_PORT', {
    about: 'port of /livez, /readyz and /metrics; 0 takes a free one',
    fallback: '9464',
    max: 65_535,
  }),
  stopDeadlineMs: milliseconds('STOP_DEADLINE_MS', {
    about: 'longest time from SIGTERM to the exit; work in progress is finished within it',
    fallback: '25000',
    min: 1,
  }),
};

/** OpenTelemetry's own names: an operator sets them for every service alike. */
export const tracingSettings = {
  endpoint: optional(
    url('OTEL_EXPORTER_OTLP_ENDPOINT', {
      about:
        'address of an OpenTelemetry collector (OTLP over HTTP) that receives traces; unset means no tracing',
    }),
  ),
  ratio: setting(
    'OTEL_TRACES_SAMPLER_ARG',
    { about: 'share of the traces begun by Hookline that are kept, from 0 to 1', fallback: '1' },
    (text) => {
      const ratio = Number(text);
      if (!(ratio >= 0 && ratio <= 1))
        throw new Fault(`is ${JSON.stringify(text)}: give a number from 0 to 1.`);
      return ratio;
    },
  ),
};
