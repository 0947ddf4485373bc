import { describe, expect, it } from 'vitest';
import { parseCommand } from './command-line.ts';

describe('the command line', () => {
  it('has one node, free ports and the usual folder unless told', () => {
    const expected = { verb: 'up', nodes: 1, kafkaPort: undefined, registryPort: undefined, dir: '/usual' };
    expect(parseCommand(['up'], '/usual')).toEqual(expected);
  });

  it('takes nodes, ports and a folder', () => {
    const args = ['up', '--nodes', '3', '--kafka-port=9092', '--registry-port', '8081', '--dir', '/other'];
    const expected = { verb: 'up', nodes: 3, kafkaPort: 9092, registryPort: 8081, dir: '/other' };
    expect(parseCommand(args, '/usual')).toEqual(expected);
  });

  it.each([
    [[], 'Usage: up'],
    [['start'], 'Usage: up'],
    [['up', 'down'], 'Usage: up'],
    [['up', '--bogus'], 'Unknown option'],
    [['up', '--nodes', '2'], '--nodes is 2'],
    [['up', '--kafka-port', '70000'], '--kafka-port is 70000'],
  ])('refuses %j', (args, message) => {
    expect(() => parseCommand(args, '/usual')).toThrow(message);
  });
});
