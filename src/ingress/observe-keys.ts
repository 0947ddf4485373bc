import type { Metrics } from '../runtime/metrics.ts';
import type { LiveKeyring } from '../subscriptions/live-keyring.ts';

/** Tells before each scrape how many keys of each ref are live. */
export function observeKeys(metrics: Metrics, keyring: LiveKeyring): void {
  metrics.samplers.add(() => {
    metrics.keysLive.reset();
    for (const ref of keyring.refs()) {
      // Decoys, by which a refusal takes the same time for every ref, are nobody's keys.
      const signing = keyring.signingKeysOf(ref).filter(({ place }) => place >= 0);
      metrics.keysLive.set({ ref, use: 'signing' }, signing.length);
      metrics.keysLive.set({ ref, use: 'encryption' }, keyring.encryptionKeysOf(ref).length);
    }
  });
}
