import type { Http } from '../runtime/http-client.ts';

/** Prometheus' HTTP API (v1), within a time and a size. */
export type PrometheusApi = {
  /**
   * The `data` of its answer. A query of many instances can be longer than a proxy takes in an address: POST it.
   * @throws where it does not answer, answers more than the limit, or is no Prometheus
   */
  ask(
    method: 'GET' | 'POST',
    path: `/api/v1/${string}`,
    parameters: Readonly<Record<string, string>>,
  ): Promise<unknown>;
};

export function openPrometheusApi(deps: {
  readonly url: string;
  readonly http: Pick<Http, 'send'>;
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
}): PrometheusApi {
  const { url, http, timeoutMs, maxAnswerBytes } = deps;
  return {
    async ask(method, path, parameters) {
      const text = new URLSearchParams(parameters).toString();
      const { status, body } = await http.send({
        method,
        ...(method === 'GET'
          ? { url: `${url}${path}?${text}`, headers: {} }
          : { url: `${url}${path}`, headers: FORM, body: text }),
        timeoutMs,
        maxAnswerBytes,
      });
      const { data, error } = parse(body);
      if (status === 200 && data !== undefined) return data;
      throw new Error(`PROMETHEUS_URL answers ${status}: ${error ?? 'it is no Prometheus'}`);
    },
  };
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const MAX_ERROR_CHARACTERS = 300;

function parse(body: string): { readonly data?: unknown; readonly error?: string } {
  try {
    const { data, error } = Object(JSON.parse(body)) as { data?: unknown; error?: unknown };
    return { data, ...(typeof error === 'string' && { error: error.slice(0, MAX_ERROR_CHARACTERS) }) };
  } catch {
    return {};
  }
}

/** One series of an answer: its labels, and values as seconds since 1970 and number. */
export type Series = {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [number, string])[];
};

/** The series of a query's `data`; of an instant vector they have no values. */
export function seriesIn(data: unknown): readonly Series[] {
  const { result } = Object(data) as { result?: readonly Partial<Series>[] };
  if (!Array.isArray(result)) return [];
  return result.map(({ metric = {}, values = [] }: Partial<Series>) => ({ metric, values }));
}
