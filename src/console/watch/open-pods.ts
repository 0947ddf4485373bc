import { createHttp, type Http } from '../../runtime/http-client.ts';
import { filesLog } from '../../runtime/logger.ts';
import type { ConsoleDeps } from '../page/console-deps.ts';
import { openWatch, type Watch } from './watch.ts';

export type Watching = { readonly watch: Watch; readonly http: Http };

/** Begins to read the processes of CONSOLE_TARGETS. */
export function openPods({ config, clock, logger, add }: ConsoleDeps): Watching {
  const http = add('http client', createHttp({ tls: {}, files: filesLog(logger), clock }));
  return { http, watch: add('watch', openWatch({ targets: config.console.targets, http, clock })) };
}
