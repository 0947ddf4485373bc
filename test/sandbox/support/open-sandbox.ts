import { type RunningSandbox, startSandbox } from '../../../src/sandbox/start-sandbox.ts';

export const ENCRYPTION_KEY = '0123456789abcdef0123456789ABCDEF';

export const TOKEN_FORM = {
  grant_type: 'client_credentials',
  scope: 'accounts.read transactions.read',
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  client_assertion: 'sandbox-lite-jwt',
};

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  readonly json: any;
};

type Call = {
  json?: unknown;
  form?: Record<string, string>;
  headers?: Record<string, string>;
  token?: string;
};

/** A running sandbox on a free port, and ways to call it. Retries come at once unless the schedule is given. */
export async function openSandbox(options: Parameters<typeof startSandbox>[0] = {}) {
  const running: RunningSandbox = await startSandbox({ port: 0, retryScheduleS: [0.01, 0.01], ...options });
  return { ...clientOf(running.url), stop: running.stop, [Symbol.asyncDispose]: running.stop };
}

/** Ways to call a sandbox that runs anywhere. */
export function clientOf(url: string) {
  const call = async (method: string, path: string, with_: Call = {}): Promise<Answer> => {
    const { json, form, headers, token } = with_;
    const body = form
      ? new URLSearchParams(form).toString()
      : json === undefined
        ? null
        : JSON.stringify(json);
    const response = await fetch(url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...(form ? { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' } : {}),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body,
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') && text !== '';
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson ? tryParse(text) : undefined,
    };
  };

  return {
    url,
    call,
    token: async (): Promise<string> =>
      (await call('POST', '/oauth/token', { form: TOKEN_FORM })).json.access_token,
    /** Puts a subscription in, with an encryption key. */
    seed: async (url: string, more: object = {}) =>
      (
        await call('POST', '/_sandbox/subscriptions', {
          json: { url, events: ['payment_status'], encryptionKey: ENCRYPTION_KEY, ...more },
        })
      ).json,
    trigger: async (json: object = {}) => call('POST', '/_sandbox/trigger', { json }),
    fail: async (...rules: object[]) => call('PUT', '/_sandbox/faults', { json: rules }),
  };
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
