import { type Assertion, createAssertion } from './assertion.ts';
import { createProviderCall, type ProviderCall } from './call-provider.ts';
import { createHttp, type OnRequest } from './http.ts';
import type { ProviderSettings } from './settings.ts';
import { createTokenSource } from './token-source.ts';

/** The payment service that the settings name. */
export function openProvider(parts: {
  readonly settings: ProviderSettings;
  readonly newId: () => string;
  readonly onNarrowerScope: (missing: readonly string[]) => void;
  readonly onRequest: OnRequest;
  /** A token was obtained. */
  readonly onToken?: () => void;
}): { readonly call: ProviderCall; stop(): Promise<void> } {
  const { settings, newId, onNarrowerScope, onRequest, onToken } = parts;
  const http = createHttp({ caFile: settings.caFile });
  const assertion: Assertion = createAssertion(settings, newId);
  const tokens = createTokenSource({
    ...{ settings, http, assertion, onNarrowerScope, onRequest },
    ...(onToken && { onToken }),
  });
  return {
    call: createProviderCall({ baseUrl: settings.baseUrl, http, tokens, onRequest }),
    stop: () => http.stop(),
  };
}
