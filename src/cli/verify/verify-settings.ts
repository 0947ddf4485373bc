import { list, optional, path, url } from '../../config/env.ts';
import { proxySettings } from '../../config/proxy.ts';
import { prometheusSettings } from '../../config/shared-settings.ts';
import { parseAdminAddress } from '../../runtime/admin-addresses.ts';

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
    parseAdminAddress,
  ),
  ...prometheusSettings,
  ...proxySettings,
};
