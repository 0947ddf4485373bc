import { Agent } from 'undici';

export type ReceiverTls = {
  /** PEM of the authority that signed the receivers' certificates; undefined: the well-known ones. */
  readonly ca: string | undefined;
  /** PEM of the client certificate and its key, for receivers that want mutual TLS. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
};

/** The HTTP client for deliveries: connections are kept and used again, at most `connections` to a receiver. */
export function openReceiverClient(options: {
  tls: ReceiverTls;
  connections: number;
  timeoutMs: number;
}): Agent {
  const { ca, cert, key } = options.tls;
  return new Agent({
    connections: options.connections,
    pipelining: 1,
    allowH2: false,
    headersTimeout: options.timeoutMs,
    bodyTimeout: options.timeoutMs,
    connect: {
      timeout: options.timeoutMs,
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    },
  });
}
