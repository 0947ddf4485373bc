import { createServer } from 'node:net';

const canListenOn = (host: string) =>
  new Promise<boolean>((resolve) => {
    const server = createServer().once('error', () => resolve(false));
    server.listen(0, host, () => server.close(() => resolve(true)));
  });

/** Which loopback addresses this machine has. */
export const [hasIpv4, hasIpv6] = await Promise.all([canListenOn('127.0.0.1'), canListenOn('::1')]);

/** Behind the name of what needs it, so that a report says why it was skipped. */
export const NEEDS_IPV6 = hasIpv6 ? '' : ' (skipped: this machine has no ::1)';
