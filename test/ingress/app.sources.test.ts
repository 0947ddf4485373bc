import { describe, expect, it } from 'vitest';
import { createSourceFilter } from '../../src/config/networks.ts';
import { post, startIngressApp } from '../support/ingress-app.ts';
import { hasIpv6, NEEDS_IPV6 } from '../support/ip-families.ts';

const body = '{"type":"payment-status"}';

describe('ALLOWED_SOURCES', () => {
  it.each([
    [[], '203.0.113.9', true],
    [['203.0.113.0/24'], '203.0.113.9', true],
    [['203.0.113.0/24'], '203.0.114.9', false],
    [['203.0.113.0/24'], '::ffff:203.0.113.9', true],
    [['203.0.113.9/32'], '203.0.113.9', true],
    [['2001:db8::/32'], '2001:db8:1::5', true],
    [['2001:db8::/32'], '2001:db9::5', false],
    [['2001:db8::/32', '10.0.0.0/8'], '10.1.2.3', true],
    [['10.0.0.0/8'], 'nonsense', false],
    [['10.0.0.0/8'], '', false],
  ])('%j lets %s through: %s', (cidrs, address, allowed) => {
    expect(createSourceFilter(cidrs)(address)).toBe(allowed);
  });

  it('closes connections from other addresses before they cost a request', async () => {
    await using ingress = await startIngressApp({ allowedSources: ['203.0.113.0/24'] });
    await expect(post(`${ingress.url}/webhooks/ledger-eu`, body)).rejects.toThrow();
    expect(ingress.ends).toEqual(['source_not_allowed']);
    expect([ingress.refusals, ingress.seen.records, ingress.limits.open]).toEqual([[], [], 0]);
  });

  it('behind trusted proxies answers 403 by the forwarded address', async () => {
    const options = { allowedSources: ['203.0.113.0/24'], trustedProxies: ['127.0.0.0/8'] };
    await using ingress = await startIngressApp(options);
    const headers = { 'x-forwarded-for': '198.51.100.1' };
    const response = await post(`${ingress.url}/webhooks/ledger-eu`, body, headers);
    expect([response.status, await response.text()]).toEqual([
      403,
      expect.stringContaining('SOURCE_NOT_ALLOWED'),
    ]);
    expect(ingress.seen.records).toEqual([]);
  });

  it('closes connections that come neither from a proxy nor from an allowed address', async () => {
    const options = { allowedSources: ['203.0.113.0/24'], trustedProxies: ['10.0.0.0/8'] };
    await using ingress = await startIngressApp(options);
    const headers = { 'x-forwarded-for': '203.0.113.7' };
    await expect(post(`${ingress.url}/webhooks/ledger-eu`, body, headers)).rejects.toThrow();
    expect(ingress.ends).toEqual(['source_not_allowed']);
  });

  it.skipIf(!hasIpv6)(`knows an IPv4 peer as one on a socket of both families${NEEDS_IPV6}`, async () => {
    const url = (ingress: { url: string }) => `${ingress.url}/webhooks/ledger-eu`;
    await using allowing = await startIngressApp({ host: '::', allowedSources: ['127.0.0.0/8'] });
    expect((await post(url(allowing), body)).status).toBe(200);
    await expect(post(url(allowing).replace('127.0.0.1', '[::1]'), body)).rejects.toThrow();
    expect(allowing.ends).toEqual(['source_not_allowed']);
    const options = { host: '::', allowedSources: ['203.0.113.0/24'], trustedProxies: ['127.0.0.0/8'] };
    await using behindProxy = await startIngressApp(options);
    const from = (address: string) => post(url(behindProxy), body, { 'x-forwarded-for': address });
    expect((await from('203.0.113.7')).status).toBe(200);
    expect((await from('::ffff:203.0.113.7')).status).toBe(200);
    expect((await from('203.0.113.7, 198.51.100.1')).status).toBe(403);
  });

  it.each([
    ['203.0.113.7:50123', 200],
    ['198.51.100.1:50123', 403],
    ['[2001:db8::7]:50123', 200],
    ['[2001:db8::7]', 200],
    ['[2001:db9::7]:50123', 403],
    ['203.0.113.7:50123, 198.51.100.1:50123', 403],
    ['203.0.113.7:5012345', 403],
    // A proxy in front of that one, which is trusted too.
    ['203.0.113.7, 127.0.0.2:50123', 200],
    ['203.0.113.7, 198.51.100.1, 127.0.0.2:50123', 403],
  ])('behind a proxy that forwards ports, too, answers to %s: %i', async (address, status) => {
    const options = { allowedSources: ['203.0.113.0/24', '2001:db8::/32'], trustedProxies: ['127.0.0.0/8'] };
    await using ingress = await startIngressApp(options);
    const answer = await post(`${ingress.url}/webhooks/ledger-eu`, body, { 'x-forwarded-for': address });
    expect(answer.status).toBe(status);
  });

  it('lets an IPv6 peer with a zone be judged by its address', () => {
    expect(createSourceFilter(['fe80::/10'])('fe80::1%eth0')).toBe(true);
    expect(createSourceFilter(['2001:db8::/32'])('fe80::1%eth0')).toBe(false);
  });

  it('believes X-Forwarded-For of a trusted proxy alone', async () => {
    const allowedSources = ['203.0.113.0/24'];
    const forwarded = { 'x-forwarded-for': '203.0.113.7' };
    await using trusting = await startIngressApp({ allowedSources, trustedProxies: ['127.0.0.0/8'] });
    expect((await post(`${trusting.url}/webhooks/ledger-eu`, body, forwarded)).status).toBe(200);
    const spoofed = { 'x-forwarded-for': '203.0.113.7, 198.51.100.1' };
    expect((await post(`${trusting.url}/webhooks/ledger-eu`, body, spoofed)).status).toBe(403);
    const options = { allowedSources: ['127.0.0.1/32', '203.0.113.7/32'], trustedProxies: ['10.0.0.0/8'] };
    await using distrusting = await startIngressApp(options);
    const stranger = { 'x-forwarded-for': '198.51.100.1' };
    expect((await post(`${distrusting.url}/webhooks/ledger-eu`, body, stranger)).status).toBe(200);
  });
});
