import type { Http, HttpAnswer } from '../runtime/http-client.ts';

/** Many times what a process with thousands of refs says: more is no process of Hookline. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/**
 * Reads one page of a process's admin port.
 * @param origin such as http://10.0.0.7:9464
 */
export const readProcess = (
  http: Pick<Http, 'send'>,
  origin: string,
  path: '/metrics' | '/readyz',
  timeoutMs: number,
): Promise<HttpAnswer> =>
  http.send({
    method: 'GET',
    url: `${origin}${path}`,
    headers: {},
    timeoutMs,
    maxAnswerBytes: MAX_ANSWER_BYTES,
  });
