import { Fault, list, optional, path, text, url } from '../../config/env.ts';

/** The variables of `hookline verify`, beside those of Kafka and the registry. */
export const verifySettings = {
  url: url('VERIFY_URL', {
    about: 'address of ingress, without /webhooks, that hookline verify sends its probe to',
    fallback: 'http://127.0.0.1:8080',
  }),
  caFile: optional(
    path('VERIFY_CA_FILE', { about: "certificate authority of that address; unset means the system's" }),
  ),
  certFile: optional(
    path('VERIFY_CERT_FILE', { about: 'client certificate for that address, where ingress asks for one' }),
  ),
  keyFile: optional(path('VERIFY_KEY_FILE', { about: 'key of that certificate' })),
  targets: list(
    'VERIFY_TARGETS',
    {
      about:
        'admin addresses of ingress whose /metrics hookline verify compares, separated by commas, such as http://hookline-ingress-metrics:9464; of a name with several addresses each one is read. Not used if PROMETHEUS_URL is set',
      fallback: '',
    },
    parseTarget,
  ),
  prometheusUrl: optional(
    url('PROMETHEUS_URL', { about: 'address of a Prometheus that has the metrics of ingress' }),
  ),
  prometheusMatch: text('PROMETHEUS_MATCH', {
    about:
      'label matchers that select this installation in PROMETHEUS_URL, such as namespace="payments"; empty means everything named hookline_*',
    fallback: '',
  }),
};

export function parseTarget(value: string): URL {
  const parsed = URL.parse(value);
  if (parsed?.protocol !== 'http:' || parsed.username || parsed.password)
    throw new Fault(`is ${JSON.stringify(value)}: give addresses such as http://127.0.0.1:9464.`);
  return parsed;
}
