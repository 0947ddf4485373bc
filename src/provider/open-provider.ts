import type { RenewalObserver } from '../config/renewed-files.ts';
import type { Clock } from '../runtime/clock.ts';
import { createHttp } from '../runtime/http-client.ts';
import { named } from '../runtime/tls-files.ts';
import { createBreaker } from './breaker.ts';
import { createProviderCall, type ProviderCall } from './call-provider.ts';
import type { OnRequest } from './judge-answer.ts';
import type { ProviderSettings } from './settings.ts';
import { type Assertion, createAssertion, createTokenSource } from './token-source.ts';

/** The provider that the settings name. */
export function openProvider(deps: {
  readonly clock: Clock;
  readonly settings: ProviderSettings;
  readonly files: RenewalObserver;
  readonly newId: () => string;
  readonly onNarrowerScope: (missing: readonly string[]) => void;
  readonly onRequest: OnRequest;
  /** A token was obtained. */
  readonly onToken?: () => void;
  /** The provider is unavailable, with the reason; null: it is back. */
  readonly onUnavailable?: (why: string | null) => void;
}): { readonly call: ProviderCall; stop(): Promise<void> } {
  const { settings, newId, onNarrowerScope, onRequest, onToken, onUnavailable = () => {}, clock } = deps;
  const tls = {
    ca: named('PROVIDER_CA_FILE', settings.caFile),
    cert: named('PROVIDER_CERT_FILE', settings.certFile),
    key: named('PROVIDER_KEY_FILE', settings.keyFile),
  };
  const http = createHttp({ tls, files: deps.files, clock, proxy: settings });
  const assertion: Assertion = createAssertion(settings, newId, clock);
  const tokens = createTokenSource({
    clock,
    settings,
    http,
    assertion,
    onNarrowerScope,
    onRequest,
    ...(onToken && { onToken }),
  });
  const call = createProviderCall({ baseUrl: settings.baseUrl, http, tokens, onRequest, clock });
  const breaker = createBreaker({ call, onChange: onUnavailable, clock });
  return {
    call: breaker.call,
    async stop() {
      await breaker.stop();
      await http.stop();
    },
  };
}
