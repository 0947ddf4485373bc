import { createBreaker } from './breaker.ts';
import { createProviderCall, type ProviderCall } from './call-provider.ts';
import { createHttp, type OnRequest } from './http.ts';
import type { ProviderSettings } from './settings.ts';
import { type Assertion, createAssertion, createTokenSource } from './token-source.ts';

/** The payment service that the settings name. */
export function openProvider(parts: {
  readonly settings: ProviderSettings;
  readonly newId: () => string;
  readonly onNarrowerScope: (missing: readonly string[]) => void;
  readonly onRequest: OnRequest;
  /** A token was obtained. */
  readonly onToken?: () => void;
  /** The service is taken to be away, with the reason; null: it is back. */
  readonly onAway?: (why: string | null) => void;
}): { readonly call: ProviderCall; stop(): Promise<void> } {
  const { settings, newId, onNarrowerScope, onRequest, onToken, onAway = () => {} } = parts;
  const http = createHttp({ caFile: settings.caFile });
  const assertion: Assertion = createAssertion(settings, newId);
  const tokens = createTokenSource({
    ...{ settings, http, assertion, onNarrowerScope, onRequest },
    ...(onToken && { onToken }),
  });
  const call = createProviderCall({ baseUrl: settings.baseUrl, http, tokens, onRequest });
  const breaker = createBreaker({ call, onChange: onAway });
  return {
    call: breaker.call,
    async stop() {
      await breaker.stop();
      await http.stop();
    },
  };
}
