import { Fault, optional, setting, url } from './env.ts';

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
