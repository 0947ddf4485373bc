/** kafkajs sets one timer to a time in the past when it starts: Node mends that and says so. It is harmless. */
const HARMLESS = 'TimeoutNegativeWarning';

/** Hands Node's warnings to `onWarning` instead of printing them. */
export function routeWarnings(onWarning: (warning: Error) => void): void {
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    if (warning.name !== HARMLESS) onWarning(warning);
  });
}
