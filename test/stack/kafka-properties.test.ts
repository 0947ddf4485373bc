import { expect, it } from 'vitest';
import { kafkaProperties, planNodes } from './kafka-properties.ts';

const ports = {
  kafka: [1001, 1002, 1003],
  internal: [2001, 2002, 2003],
  controller: [3001, 3002, 3003],
  registry: 4001,
  management: 4002,
};
const common = { logDir: '/logs', listenHost: '0.0.0.0', advertisedHost: 'example.org' };

it('tells clients the advertised ports, and the other nodes the internal ones', () => {
  const nodes = planNodes(ports, [5001, 5002, 5003]);
  const lines = kafkaProperties({ ...common, nodes, node: nodes[1]! }).split('\n');
  expect(lines).toContain('node.id=2');
  expect(lines).toContain('controller.quorum.voters=1@127.0.0.1:3001,2@127.0.0.1:3002,3@127.0.0.1:3003');
  expect(lines).toContain('advertised.listeners=CLIENT://example.org:5002,INTERNAL://127.0.0.1:2002');
  expect(lines.find((line) => line.startsWith('listeners='))).toContain('CLIENT://0.0.0.0:1002,');
  expect(lines).toContain('offsets.topic.replication.factor=3');
});

it('lets a cluster replace a property', () => {
  const nodes = planNodes({ ...ports, kafka: [1001] });
  const overrides = { 'auto.create.topics.enable': true, 'log.retention.ms': 1000 };
  const text = kafkaProperties({ ...common, nodes, node: nodes[0]!, overrides });
  expect(text.match(/^auto\.create.*$/gm)).toEqual(['auto.create.topics.enable=true']);
  expect(text).toContain('log.retention.ms=1000\n');
  expect(text).toContain('offsets.topic.replication.factor=1\n');
});

it('adds listeners, and tells clients of them', () => {
  const nodes = planNodes({ ...ports, kafka: [1001] });
  const listeners = [{ name: 'MTLS', port: 6001, protocol: 'SSL' as const }];
  const text = kafkaProperties({ ...common, nodes, node: nodes[0]!, listeners });
  for (const name of ['listeners', 'advertised.listeners'])
    expect(text).toMatch(new RegExp(`^${name}=CLIENT:.*,MTLS://127.0.0.1:6001$`, 'm'));
  expect(text).toMatch(/^listener\.security\.protocol\.map=.*,MTLS:SSL$/m);
});
