import { envReader } from '../../src/config/env.ts';
import { openProvider } from '../../src/provider/open-provider.ts';
import { createProviderApi } from '../../src/provider/provider-api.ts';
import { type ProviderSettings, providerSettings } from '../../src/provider/settings.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { openSandbox } from '../sandbox/support/open-sandbox.ts';
import { Fixture } from './topics-fixture.ts';

/** The settings that an environment makes; files in it are there. */
export function providerSettingsOf(env: Record<string, string>): ProviderSettings {
  const source = { env, fileFault: () => null };
  const reader = envReader(source);
  const settings = reader.read(providerSettings);
  reader.done({});
  return settings;
}

/** An emulated provider in this process, and the product's own client for it, over real HTTP. */
export async function openProviderHarness(env: Record<string, string> = {}) {
  const sandbox = await openSandbox();
  const fixture = new Fixture({ brokers: [], registryUrl: '' });
  const settings = providerSettingsOf({
    PROVIDER_AUTH_URL: sandbox.url,
    PROVIDER_BASE_URL: sandbox.url,
    PROVIDER_SCOPE: 'accounts.read transactions.read',
    PROVIDER_JWT_FILE: fixture.file('jwt', 'sandbox-lite-jwt\n'),
    ...env,
  });
  /** Each request as the metric sees it. */
  const requests: string[] = [];
  const tokenRequests: string[] = [];
  const narrower: (readonly string[])[] = [];
  /** Why the provider is unavailable, and null when it is back, each time. */
  const unavailable: (string | null)[] = [];
  const provider = openProvider({
    files: { renewed() {}, unusable() {} },
    settings,
    newId: () => 'an-id',
    clock: systemClock,
    onNarrowerScope: (missing) => narrower.push(missing),
    onUnavailable: (why) => unavailable.push(why),
    onRequest(operation, outcome) {
      const list = operation === 'POST oauth/token' ? tokenRequests : requests;
      list.push(`${operation} ${outcome}`);
    },
  });
  const logged = async (operation: string): Promise<{ path: string; status: number | null }[]> =>
    (await sandbox.call('GET', `/_sandbox/requests?operation=${operation}`)).json;
  return {
    sandbox,
    fixture,
    settings,
    requests,
    tokenRequests,
    narrower,
    unavailable,
    logged,
    call: provider.call,
    api: createProviderApi(provider.call, settings.dialect),
    async [Symbol.asyncDispose]() {
      await provider.stop();
      await sandbox.stop();
      await fixture[Symbol.asyncDispose]();
    },
  };
}
