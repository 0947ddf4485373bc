import { type Assertion, createAssertion } from './assertion.ts';
import { createProviderCall, type ProviderCall } from './call-provider.ts';
import { createHttp } from './http.ts';
import type { ProviderSettings } from './settings.ts';
import { createTokenSource } from './token-source.ts';

/** The payment service that the settings name. */
export function openProvider(parts: {
  readonly settings: ProviderSettings;
  readonly newId: () => string;
  readonly onNarrowerScope: (missing: readonly string[]) => void;
  /** Told of each request: which operation, and how the answer was judged. */
  readonly onRequest: (operation: string, outcome: string) => void;
}): { readonly call: ProviderCall; stop(): Promise<void> } {
  const { settings, newId, onNarrowerScope, onRequest } = parts;
  const http = createHttp({ caFile: settings.caFile });
  const assertion: Assertion = createAssertion(settings, newId);
  const tokens = createTokenSource({ settings, http, assertion, onNarrowerScope });
  return {
    call: createProviderCall({ baseUrl: settings.baseUrl, http, tokens, onRequest }),
    stop: () => http.stop(),
  };
}
